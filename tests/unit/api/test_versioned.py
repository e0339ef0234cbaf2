"""Microversions: parsing the header, and tables that are checked when they are declared."""

import pytest

from placement.api.history import HISTORY, LATEST, v
from placement.api.microversion import MalformedVersionError, requested
from placement.api.versioned import Versioned


@pytest.mark.parametrize(
    ("header", "version"),
    [
        (None, "1.0"),
        ("placement 1.39", "1.39"),
        ("Placement   1.5", "1.5"),
        ("placement latest", "1.39"),
        ("placement 1.2, compute 2.1, placement 1.7", "1.7"),
        ("placement x, placement 1.7", "1.7"),
        ("compute 2.1", "1.0"),
        ("1.39", "1.0"),
        ("placement1.5", "1.0"),
    ],
)
def test_the_last_entry_for_placement_counts(header: str | None, version: str) -> None:
    assert requested(header, LATEST) == v(version)


@pytest.mark.parametrize("stated", ["1", "1.", "a.b", "1.2.3", "LATEST"])
def test_what_is_no_version_is_malformed(stated: str) -> None:
    with pytest.raises(MalformedVersionError):
        requested(f"placement {stated}", LATEST)


def test_the_history_is_whole_and_in_order() -> None:
    assert list(HISTORY) == [v(f"1.{minor}") for minor in range(40)]


def test_a_table_gives_the_value_of_the_newest_entry_so_far() -> None:
    table = Versioned({"1.8": "old", "1.12": "new"})
    assert [table.at(v(text)) for text in ("1.8", "1.11", "1.12", "1.39")] == [
        "old", "old", "new", "new",
    ]  # fmt: skip
    with pytest.raises(LookupError):
        table.at(v("1.7"))


@pytest.mark.parametrize("table", [{}, {"1.12": 1, "1.8": 2}, {"1.40": 1}])
def test_a_table_with_a_fault_fails_when_declared(table: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=r"versions|microversion"):
        Versioned(table)
