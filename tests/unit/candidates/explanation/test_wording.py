"""The words of explanations: one table, from which all others follow."""

import re
from pathlib import Path

import pytest

from placement.candidates.explanation import CODES
from placement.candidates.trace import SUMS_BY, Refusal

ROOT = Path(__file__).parents[4]
FIELDS = {
    *("value", "noun", "name", "there", "advice", "have", "group", "missing", "within"),
    *("traits", "sums", "isolated", "subtrees"),
}


@pytest.mark.parametrize("code", CODES)
def test_each_code_of_explanations_has_its_words(code: Refusal) -> None:
    assert re.fullmatch(r"[a-z][^.]+[^.]", code.meaning)
    assert code.reason.refused
    assert re.match(r"\{have\} |took ", code.reason.lacking)


def test_forms_have_known_fields_alone() -> None:
    for reason in (*(code.reason for code in Refusal), *SUMS_BY.values()):
        used = re.findall(r"\{(\w*)\}", "".join(reason))
        assert FIELDS.issuperset(used), reason


def test_meanings_are_told_in_one_place() -> None:
    """The command, the page and the documents show what the server says."""
    places = [ROOT / "placement", ROOT / "docs"]
    texts = {
        path: path.read_text()
        for place in places
        for pattern in ("*.py", "*.js", "*.rst")
        for path in place.rglob(pattern)
    }
    for code in CODES:
        told = {path.name for path, text in texts.items() if f'"{code.meaning}"' in text}
        assert told <= {"trace.py"}, code
    assert len(texts) > 300
