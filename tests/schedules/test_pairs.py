"""Every pair of writes, with their statements in every order, ends like one after the other.

`PLACEMENT_SCHEDULES` is the number of random orders for each pair, or "all" for each order once.
Without it, some pairs run in two orders.
"""

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import combinations_with_replacement
from random import Random
from typing import Any

import pytest

from tests.kit.engines import ENGINE, seeded
from tests.kit.interleaving import Choose, Order, interleave, orders
from tests.schedules.cloud import WRITES, Cloud

pytestmark = pytest.mark.skipif(ENGINE == "sqlite", reason="one transaction writes at a time")

SCHEDULES = os.environ.get("PLACEMENT_SCHEDULES", "")
# Probability that the next statement is one of the other writer.
SWITCH = 0.25
PAIRS = list(combinations_with_replacement(WRITES, 2))
if not SCHEDULES:
    PAIRS = seeded("pairs").sample(PAIRS, 60)


@pytest.fixture(scope="module")
def counts() -> Iterator[Counter[str]]:
    """Return counts of orders, which are printed at the end."""
    counted: Counter[str] = Counter()
    yield counted
    print(f"\nschedules, {ENGINE}: {dict(counted)}")


# On MariaDB, the writes of a transaction are also tried as one statement.
WAYS = {"one by one": True, "together": False} if ENGINE == "mariadb" else {"one by one": True}


@pytest.fixture(scope="module", params=WAYS)
def cloud(
    tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[Cloud]:
    made = Cloud(tmp_path_factory.mktemp("cloud"), one_by_one=WAYS[request.param])
    yield made
    made.close()


def in_runs(random: Random) -> Choose:
    """Return a choice that often lets the same writer go on.

    Many faults need one writer to do all of its work between two statements of the other one.
    """
    turn = random.randrange(2)

    def choose() -> int:
        nonlocal turn
        if random.random() < SWITCH:
            turn = 1 - turn
        return turn

    return choose


def outcome(cloud: Cloud, results: Sequence[Any]) -> Any:
    return list(results), cloud.state()


def serial(cloud: Cloud, names: Sequence[str], *, reverse: bool = False) -> Any:
    """Return the outcome of two writes one after the other."""
    cloud.reset()
    services = cloud.service, cloud.other
    results: list[Any] = [None, None]
    for number in (1, 0) if reverse else (0, 1):
        results[number] = WRITES[names[number]](cloud, services[number], number)
    return outcome(cloud, results)


def run(cloud: Cloud, names: Sequence[str], expected: Sequence[Any], choose: Choose) -> Order:
    """Run two writes in one order, and check the outcome."""
    cloud.reset()
    works = [
        partial(WRITES[name], cloud, service, number)
        for number, (name, service) in enumerate(
            zip(names, (cloud.service, cloud.other), strict=True)
        )
    ]
    results, order = interleave(works, cloud.databases, choose, cloud.waits, cloud.state)
    assert outcome(cloud, results) in expected, order
    cloud.service.check_used()
    assert not cloud.unrenewed(), order
    assert not cloud.unnumbered(), order
    return order


@pytest.mark.parametrize("names", PAIRS, ids="-".join)
def test_two_writes_end_as_if_one_came_after_the_other(
    cloud: Cloud, names: Sequence[str], counts: Counter[str]
) -> None:
    expected = [serial(cloud, names), serial(cloud, names, reverse=True)]
    for results, _state in expected:
        assert all(result is None or result < 500 for result in results)
    work = partial(run, cloud, names, expected)
    if SCHEDULES == "all":
        found = orders(work)
    else:
        random = seeded(" ".join(names))
        found = (work(in_runs(random)) for _ in range(int(SCHEDULES or 2)))
    for order in found:
        counts["orders"] += 1
        counts["ended by a lock"] += order.waited
        counts["statements"] += len(order.statements)
    counts["pairs"] += 1
