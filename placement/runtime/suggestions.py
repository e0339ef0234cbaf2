"""Suggestions of existing names for unknown names."""

import re
from collections.abc import Iterable
from difflib import SequenceMatcher
from typing import Any

DEFAULT_CUTOFF = 0.6  # minimum similarity of a suggested name, between 0 and 1
# Maximum number of names that are compared completely. A comparison of two names of 255 characters
# takes 0.3 ms.
MAX_COMPARISONS = 100
PARENTHESES = " ({})"


def nearest(unknown: str, names: Iterable[str], cutoff: float = DEFAULT_CUTOFF) -> list[str]:
    """Return the existing name that is most similar to an unknown name, or an empty list.

    If many names consist of the same letters, only the names that share most letters with the
    unknown name are compared completely.
    """
    matcher = SequenceMatcher()
    matcher.set_seq2(unknown)
    # An upper limit of the similarity takes a tenth of the time of the similarity.
    limits: list[tuple[float, str]] = []
    for name in names:
        matcher.set_seq1(name)
        if matcher.real_quick_ratio() >= cutoff and (limit := matcher.quick_ratio()) >= cutoff:
            limits.append((limit, name))
    similarity, nearest_name = cutoff, ""
    for limit, name in sorted(limits, reverse=True)[:MAX_COMPARISONS]:
        if limit < similarity:
            break
        matcher.set_seq1(name)
        similarity, nearest_name = max((similarity, nearest_name), (matcher.ratio(), name))
    return [nearest_name] if nearest_name else []


def did_you_mean(proposals: Iterable[str], form: str = "; {}") -> str:
    """Return a question that contains each proposal once, or "" if there are no proposals."""
    distinct = list(dict.fromkeys(proposals))
    return form.format(f"did you mean {', '.join(distinct)}?") if distinct else ""


def suggest_options(parser: Any) -> None:
    """Make the argparse parser of a command refuse unknown arguments itself, with a suggestion."""
    parse = parser.parse_known_args

    def parse_known_args(*args: Any, **kwargs: Any) -> Any:
        values, unknown = parse(*args, **kwargs)
        if unknown:
            options = re.findall(r"(?<![\w-])--[\w-]+", parser.format_help())
            misspelt = (text.partition("=")[0] for text in unknown if text.startswith("--"))
            proposals = (proposal for name in misspelt for proposal in nearest(name, options))
            hint = did_you_mean(proposals) or "; --help lists the arguments"
            parser.error(f"unrecognized arguments: {' '.join(unknown)}{hint}")
        return values, unknown

    parser.parse_known_args = parse_known_args
