"""The table that a release is measured by."""

import pytest

from bench.aims import AIMS, ROOT, Most, Of, Times, count, report, summary, times
from bench.scenarios import FAMILIES

WRITE = "flat 10,000 hosts x 20 consumers, PUT allocations"
ONE = "flat 10,000 hosts x 20 consumers, one provider"


def side(median: float, cpu: float, **more: float) -> dict[str, float]:
    measured = {"at_once": 1, "median": median, "cpu": cpu, "rate": 1000 / median}
    return {**measured, "peak_mib": 90, **more}


def row(scenario: str, **sides: dict[str, float]) -> dict[str, object]:
    return {"scenario": scenario, **sides}


def test_every_aim_is_of_a_row_that_is_measured() -> None:
    assert [scenario.name for scenario in FAMILIES["aims"]([1000])] == list(AIMS)


def test_times_are_the_better_of_wall_and_cpu_time() -> None:
    assert times(side(2, 5), side(20, 20)) == 10
    assert times(side(20, 2), side(20, 20)) == 10


def test_clients_at_once_are_compared_by_what_they_do_in_a_second() -> None:
    ours = side(2, 5) | {"at_once": 8, "rate": 900.0}
    assert times(ours, side(2, 5) | {"rate": 100.0}) == 9


@pytest.mark.parametrize(
    ("aim", "met", "missed"),
    [
        (Times(8), side(1, 1), side(1.1, 1.1)),
        (Of(2, ROOT, "GET /"), side(3, 1), side(3, 3)),
        (Most(800, 150), side(900, 700, peak_mib=150), side(700, 700, peak_mib=151)),
    ],
)
def test_an_aim_is_met_or_missed(
    aim: Times | Of | Most, met: dict[str, float], missed: dict[str, float]
) -> None:
    peer, rows = side(8, 8), {ROOT: side(1, 1)}
    assert aim.is_met(met, peer, rows)
    assert not aim.is_met(missed, peer, rows)


def test_the_table_shows_before_and_now_next_to_the_peer() -> None:
    rows = [
        row(ROOT, ours=side(1, 1), peer=side(3, 3)),
        row(ONE, ours=side(2, 2), peer=side(9, 9)),
        row(WRITE, before=side(5, 5), ours=side(2, 2), peer=side(20, 20)),
        row("something else", ours=side(1, 1)),
    ]
    table = report(rows, "mariadb")
    assert table.rows[WRITE] == [5, 2, 20, 5, 2, 20, 4, 10, 90, ">= 8.5 x", "yes"]
    assert "something else" not in table.rows
    assert count(table) == "1 of 2 aims are met\n"


def test_on_other_engines_no_row_is_to_be_slower_than_the_peer() -> None:
    rows = [
        row(ONE, ours=side(2, 2), peer=side(1, 3)),
        row(WRITE, ours=side(2, 2), peer=side(1, 1)),
    ]
    assert count(report(rows, "postgresql")) == "1 of 2 aims are met\n"


def test_the_summary_has_the_median_row_and_the_lowest() -> None:
    rows = [
        row("a", ours=side(1, 1), peer=side(30, 30)),
        row("b", ours=side(1, 1), peer=side(2, 2)),
        row("c", ours=side(1, 1), peer=side(12, 12)),
        row("d", ours=side(1, 1)),
    ]
    assert "of 3 rows is 12.0 times, the lowest is 2.0 times (b)" in summary(rows)
    assert summary(rows[3:]) == ""
