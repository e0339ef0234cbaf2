"""The table that a release is measured by."""

from bench.aims import AIMS
from bench.scenarios import FAMILIES


def test_every_aim_is_of_a_row_that_is_measured() -> None:
    assert [scenario.name for scenario in FAMILIES["aims"]([1000])] == list(AIMS)
