"""UUIDs as clients spell them."""

import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from placement.objects import identifiers

CANONICAL = "c0de0000-0000-4000-8000-00000000000f"
PLAIN = CANONICAL.replace("-", "")
USUAL = (CANONICAL, PLAIN, CANONICAL.upper(), PLAIN.upper())
UNUSUAL = (f"{{{CANONICAL}}}", f"urn:uuid:{PLAIN}", CANONICAL.title(), f"{PLAIN[:5]}-{PLAIN[5:]}")


@given(st.uuids(), st.sampled_from(range(4)), st.sampled_from(range(4)))
def test_each_usual_spelling_is_kept_and_finds_the_others(
    value: uuid.UUID, one: int, other: int
) -> None:
    texts = (str(value), value.hex, str(value).upper(), value.hex.upper())
    assert identifiers.new_spelling(texts[one]) == texts[one]
    assert texts[one] in identifiers.spellings(texts[other])
    assert identifiers.key(texts[one]) == identifiers.key(texts[other]) == str(value)


@pytest.mark.parametrize("text", UNUSUAL)
def test_an_unusual_spelling_is_not_kept_and_finds_the_usual_ones(text: str) -> None:
    assert identifiers.new_spelling(text) == CANONICAL
    assert identifiers.spellings(text) >= set(USUAL)
    assert identifiers.key(text) == CANONICAL


def test_what_is_no_uuid_means_itself() -> None:
    assert identifiers.key("rack") == "rack"
    assert identifiers.spellings("rack") == {"rack"}


def test_rows_of_one_uuid_belong_together() -> None:
    ids = {PLAIN: 7, CANONICAL: 3, "rack": 4}
    assert identifiers.ids_by_key(ids) == {CANONICAL: {3, 7}, "rack": {4}}


def test_of_several_rows_that_of_the_form_given_counts_and_then_the_first() -> None:
    rows = {PLAIN: "old", CANONICAL: "new"}
    assert identifiers.match([CANONICAL], rows) == {CANONICAL: "new"}
    assert identifiers.match([CANONICAL.upper()], rows) == {CANONICAL.upper(): "old"}
