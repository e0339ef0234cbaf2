"""The texts of explanations are complete, and defined in one place."""

import re
from pathlib import Path

import pytest

from placement.candidates.explanation import CODES
from placement.candidates.explanation.fields import FIELDS, ITEM_FIELDS
from placement.candidates.explanation.manners import FORMS_BY_MANNER
from placement.candidates.trace import Form, Refusal

ROOT = Path(__file__).parents[4]
PLAIN = {(code, None): (code.reason.refused, code.reason.lacking) for code in CODES}
PAIRS = [*PLAIN.items(), *FORMS_BY_MANNER.items()]


@pytest.mark.parametrize("code", CODES)
def test_each_code_of_explanations_has_a_text(code: Refusal) -> None:
    assert re.fullmatch(r"[a-z][^.]+[^.]", code.meaning)
    assert code.reason.refused.frame


def test_each_form_is_a_detail_or_a_predicate_of_known_fields() -> None:
    for key, (refused, lacking) in PAIRS:
        assert re.match(r"\{(have|are|out_by)\} |took ", lacking.frame), key
        assert not {"have", "are"}.intersection(fields(refused.frame)), key
        for form in (refused, lacking):
            assert fields(form.frame) <= {"items", *FIELDS}, key
            assert fields(form.item) <= ITEM_FIELDS.keys(), key
            assert ";" not in "".join(form), "a semicolon ends a cause"


def test_each_field_is_in_some_form() -> None:
    forms: list[Form] = [form for _key, pair in PAIRS for form in pair]
    asked = [code.reason.asked for code in CODES]
    used = {name for text in (*(form.frame for form in forms), *asked) for name in fields(text)}
    assert used == {"items", *FIELDS}
    assert {name for form in forms for name in fields(form.item)} == ITEM_FIELDS.keys()


def fields(text: str) -> set[str]:
    return set(re.findall(r"\{(\w*)\}", text))


def test_meanings_are_defined_in_one_place() -> None:
    """The command, the page and the documents show what the server says."""
    folders = [ROOT / "placement", ROOT / "docs"]
    texts = {
        path: path.read_text()
        for folder in folders
        for pattern in ("*.py", "*.js", "*.rst")
        for path in folder.rglob(pattern)
    }
    for code in CODES:
        defined_in = {path.name for path, text in texts.items() if f'"{code.meaning}"' in text}
        assert defined_in <= {"trace.py"}, code
    assert len(texts) > 300
