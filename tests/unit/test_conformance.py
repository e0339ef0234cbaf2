"""The page of the runs of OpenStack's tests and clients is what the stored figures say."""

from __future__ import annotations

import pytest

from tests.conformance import page
from tests.conformance.suites import ENGINES, SUITES, figures


def test_the_page_is_rendered_from_the_stored_figures() -> None:
    rendered = page.render(page.read())
    assert page.PAGE.read_text() == rendered, "run python -m tests.conformance --write"


def test_each_suite_is_a_row_and_what_was_not_run_is_no_figure() -> None:
    stored = page.read()
    assert list(stored) == list(SUITES)
    row = {"release": "2026.2", "title": "t", "note": "", "results": {}}
    text = page.render({"suite": row})
    assert text.count("not run\n") == len(ENGINES)


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ("passed 25 of 26\n", (25, 26)),
        (" - Passed: 240\n - Skipped: 3\n - Failed: 2\n", (240, 242)),
        ("Ran 10 tests in 3.1s\n\nFAILED (failures=1, errors=2, skipped=3)\n", (4, 7)),
        ("Ran 18 tests in 1s\n\nOK\nRan 18 tests in 9s\n\nOK\n", (36, 36)),
        ("1 failed, 1 passed in 3s\n", (1, 2)),
    ],
)
def test_figures_of_a_run(output: str, expected: tuple[int, int]) -> None:
    assert figures(output) == expected


def test_an_output_without_figures_is_an_error() -> None:
    with pytest.raises(ValueError, match="no number of tests"):
        figures("Traceback")
