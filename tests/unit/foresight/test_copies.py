"""The work of a simulation on its copies of trees."""

from __future__ import annotations

from placement.candidates.model import Member, Stocks, Tree
from placement.foresight.simulation.copies import CopiedHosts
from placement.inventory import Stock


def test_a_tree_with_several_changes_is_read_once() -> None:
    stocks = Stocks({"VCPU": Stock(capacity=8, used=0, min_unit=1, max_unit=8, step_size=1)})
    host = Member("host", -1, stocks, frozenset(), frozenset())
    hosts = CopiedHosts([Tree(1, "host", 1, (host,), frozenset())], ())
    costs: list[int] = []
    assert list(hosts.with_free({"VCPU": 1}, (), costs.append))
    (first, *_others) = costs
    costs.clear()
    for _ in range(3):
        hosts.allocate({"host": {"VCPU": 1}}, {"host": "host"})
    assert list(hosts.with_free({"VCPU": 1}, (), costs.append))
    assert max(costs) == first
    assert sum(costs) == first
