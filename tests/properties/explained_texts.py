"""Checks of the numbers in the text of an explanation, by brute force.

Each clause states a property of a number of hosts. At least so many hosts must have it, and the
largest or smallest value of a clause must be the value of one of them.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from placement.foresight.explanation import Explanation
from tests.properties import oracle

CLAUSE = re.compile(r"(?P<hosts>[\d,]+)(?: others?)? (?P<predicate>(?:has|have|is|are) .*)", re.S)
NAMES = re.compile(r", | or | and ")
POOL = r"(?: on the sharing provider [\w-]+)?"
FREE = re.compile(r"(?P<asked>\d+) (?P<name>\w+) free \(the most is (?P<value>\d+)" + POOL + r"\)")
MAX_UNIT = re.compile(
    r"(?P<asked>\d+) (?P<name>\w+) \(the largest (?:max_unit )?is (?P<value>\d+)" + POOL + r""
    r"(?:, the most free is (?P<free>\d+))?\)"
)
SMALLEST = re.compile(
    r"(?P<asked>\d+) (?P<name>\w+) \(the smallest is (?P<value>\d+)" + POOL + r"\)"
)
ROOM = re.compile(
    r"no provider with room for (?P<asked>\d+) (?P<name>[A-Z_\d]+)(?: for [\w ]+)? "
    r"\(the most is (?P<value>\d+)" + POOL + r"\)"
)
TOO_LITTLE = re.compile(
    r"room for (?P<asked>\d+) (?P<name>[A-Z_\d]+) "
    r"\(the most free is (?P<value>\d+)" + POOL + r", too little for min_unit or step_size\)"
)
AMOUNT = re.compile(
    r"With (?P<amount>\d+) (?P<name>\w+)(?: for (?:the unsuffixed group|group (?P<suffix>\w+)))?, "
    r"(?P<hosts>\d+) host"
)
SPLIT = re.compile(r"With can_split=(?P<names>[\w,]+) \(placement 2\.0\), (?P<hosts>\d+) host")
NO_TRAIT = re.compile(
    r"(?:has|have) no provider with (?:any of the )?traits? (?P<traits>[\dA-Z_, ]+)"
)
AGGREGATES = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27}")


class Host(NamedTuple):
    """A host that cannot serve the request, with the providers that it reaches."""

    root: oracle.Provider
    # The providers of its own tree, and the sharing providers.
    own: Sequence[oracle.Provider]
    shared: Sequence[oracle.Provider]
    # Sharing providers without a class of the request. They may serve groups without amounts.
    others: Sequence[oracle.Provider]

    @property
    def pool(self) -> Sequence[oracle.Provider]:
        """All these providers."""
        return [*self.own, *self.shared]


def check_text(world: oracle.World, query: oracle.Query, explanation: Explanation) -> int:
    """Check the numbers of the text. Return the number of checked clauses."""
    hosts = list(_hosts(world, query))
    text, checked = explanation.text, 0
    served = explanation.hosts.served
    split = SPLIT.search(text)
    if split is not None:
        _check_split(world, query, split)
        checked += 1
    _outcome, _dot, reasons = text.partition(". ")
    if not reasons.startswith("There is no") and reasons:
        clauses = list(_clauses(reasons.split(". ")[0].rstrip(".")))
        counted = sum(number for number, _predicate in clauses)
        if not any(reasons.startswith(word) for word in ("Without", "With ")):
            assert counted == len(hosts) - served, (counted, len(hosts), served)
        inside = [host for host in hosts if not _is_outside(host, query)]
        for number, predicate in clauses:
            is_elsewhere = re.match(r"(is|are) not in |(has|have) no inventory ", predicate)
            looked = hosts if is_elsewhere else inside
            checked += _check_clause(world, query, looked, number, predicate)
    return checked


def _hosts(world: oracle.World, query: oracle.Query) -> Iterator[Host]:
    """Yield all hosts."""
    classes = {name for group in query.groups for name in group.resources}
    for uuid in sorted(oracle.hosts(world)):
        root = world[uuid]
        own = [each for each in world.values() if oracle.root(world, each.uuid) == root.uuid]
        reached = [
            each
            for each in world.values()
            if each not in own
            and oracle.is_in_pool(world, root.uuid, each.uuid)
            and query.untolerated.isdisjoint(world[oracle.root(world, each.uuid)].traits)
        ]
        shared = [each for each in reached if not classes.isdisjoint(each.inventories)]
        others = [each for each in reached if classes.isdisjoint(each.inventories)]
        yield Host(root, own, shared, others)


def _is_outside(host: Host, query: oracle.Query) -> bool:
    """Whether the text counts a host as outside of the aggregates and trees of a group."""
    if not all(host.root.aggregates & aggregates for aggregates in query.root_member_of):
        return False  # its root is the reason
    members = [term for group in query.groups for term in group.member_of]
    pool = [*host.pool, *host.others]
    return any(all(each.aggregates.isdisjoint(term) for each in pool) for term in members)


def _clauses(reasons: str) -> Iterator[tuple[int, str]]:
    for clause in reasons.split("; "):
        if clause.lower().startswith("host "):
            yield 1, ""
            continue
        more = re.match(r"([\d,]+) more because ", clause)
        if more is not None:
            yield int(more[1].replace(",", "")), ""
            continue
        match = CLAUSE.match(clause.removeprefix("the other ").removeprefix("The other "))
        assert match is not None, clause
        yield int(match["hosts"].replace(",", "")), match["predicate"]


def _check_clause(
    world: oracle.World, query: oracle.Query, hosts: Sequence[Host], number: int, predicate: str
) -> int:
    checks = [
        _check(hosts, number, predicate, "with ", FREE, _free, largest=True),
        _check(hosts, number, predicate, "max_unit allows ", MAX_UNIT, _max_unit, largest=True),
        _check(hosts, number, predicate, "min_unit allows ", SMALLEST, _min_unit, largest=False),
        _check(hosts, number, predicate, "step_size allows ", SMALLEST, _step_size, largest=False),
        _check(hosts, number, predicate, "room for ", ROOM, _room, largest=True),
        _check(hosts, number, predicate, "room for ", TOO_LITTLE, _free, largest=True),
    ]
    for asked, name in re.findall(r"none with room for (\d+) (\w+)(?= |;|$)", predicate):
        assert sum(not _has_room(host, name, int(asked)) for host in hosts) >= number, predicate
        checks.append(True)
    if "room for each group" in predicate:
        able = {each.root.uuid for each in hosts}
        for group in query.groups:
            for name in group.resources if not group.suffix else [""]:
                resources = {name: group.resources[name]} if name else group.resources
                if resources:
                    alone = replace(group, resources=resources, required=())
                    able &= oracle.served(world, oracle.Query((alone,)))
        assert len(able) >= number, predicate
        checks.append(True)
    if re.search(r"(has|have) no inventory of", predicate):
        listed = predicate.partition(" of ")[2].partition(" for ")[0].partition(", and ")[0]
        names = NAMES.split(listed)
        lacking = [
            host
            for host in hosts
            if not any(name in each.inventories for name in names for each in host.pool)
        ]
        assert len(lacking) >= number, predicate
        checks.append(True)
    missing = NO_TRAIT.match(predicate)
    if missing is not None:
        traits = set(missing["traits"].strip().split(", "))
        without = [
            host for host in hosts if all(traits.isdisjoint(each.traits) for each in host.own)
        ]
        assert len(without) >= number, predicate
        checks.append(True)
    if re.match(r"(is|are) not in (aggregate|any of the aggregates) ", predicate):
        names = AGGREGATES.findall(predicate)
        outside = [
            host for host in hosts if all(each.aggregates.isdisjoint(names) for each in host.own)
        ]
        assert len(outside) >= number, predicate
        checks.append(True)
    return sum(checks)


def _has_room(host: Host, name: str, asked: int) -> bool:
    return any(
        name in each.inventories and each.inventories[name].fits(asked) for each in host.pool
    )


Value = Callable[[oracle.Inventory, int], int]


def _free(inventory: oracle.Inventory, _asked: int) -> int:
    return max(0, inventory.capacity - inventory.used)


def _max_unit(inventory: oracle.Inventory, _asked: int) -> int:
    return inventory.max_unit


def _min_unit(inventory: oracle.Inventory, _asked: int) -> int:
    return inventory.min_unit


def _step_size(inventory: oracle.Inventory, _asked: int) -> int:
    return inventory.step_size


def _room(inventory: oracle.Inventory, asked: int) -> int:
    """The largest amount up to `asked` that fits."""
    return max((amount for amount in range(1, asked + 1) if inventory.fits(amount)), default=0)


def _check(
    hosts: Sequence[Host],
    number: int,
    predicate: str,
    phrase: str,
    pattern: re.Pattern[str],
    value_of: Value,
    *,
    largest: bool,
) -> bool:
    """Check the items of a clause about providers without enough of a class."""
    # "no provider whose min_unit allows … and none whose step_size allows …"
    parts = predicate.split(" and none ") if re.match("(has|have) no provider", predicate) else ()
    stated = " ".join(each for each in parts if phrase in each)
    together = " together" in predicate or "only on different" in predicate
    choose = max if largest else min
    found = False
    for match in pattern.finditer(stated):
        asked, name, value = int(match["asked"]), match["name"], int(match["value"])
        values = {
            host.root.uuid: choose(
                value_of(each.inventories[name], asked)
                for each in host.pool
                if name in each.inventories
            )
            for host in hosts
            if any(name in each.inventories for each in host.pool)
        }
        if pattern is SMALLEST and value_of is _step_size:
            short = [each for each in values.values() if each >= value]
        else:
            short = [
                each
                for each in values.values()
                if (each <= value if largest else each >= value)
                and (
                    together or pattern is TOO_LITTLE or (each < asked if largest else each > asked)
                )
            ]
        assert len(short) >= number, (predicate, values)
        assert value in short, (predicate, values)
        free = match.groupdict().get("free")
        if free is not None:
            assert int(free) < asked
            _check_free(hosts, number, name, value, int(free))
        found = True
    return found


def _check_free(hosts: Sequence[Host], number: int, name: str, unit: int, free: int) -> None:
    """Check the most free units of hosts whose max_unit is at most `unit`."""
    most = []
    for host in hosts:
        inventories = [each.inventories[name] for each in host.pool if name in each.inventories]
        if all(inventory.max_unit <= unit for inventory in inventories):
            most.append(max((_free(inventory, 0) for inventory in inventories), default=0))
    assert sum(each <= free for each in most) >= number
    assert free in most


def _check_split(world: oracle.World, query: oracle.Query, match: re.Match[str]) -> None:
    names = frozenset(match["names"].split(","))
    groups = tuple(
        group if group.suffix else replace(group, can_split=group.can_split | names)
        for group in query.groups
    )
    served = oracle.served(world, replace(query, groups=groups))
    assert len(served) == int(match["hosts"]), match[0]


def check_amounts(world: oracle.World, query: oracle.Query, text: str) -> int:
    """Check the numbers of hosts that would serve other amounts than the requested ones."""
    checked = 0
    for match in AMOUNT.finditer(text):
        suffix, name, amount = match["suffix"] or "", match["name"], int(match["amount"])
        for index, group in enumerate(query.groups):
            is_meant = len(query.groups) == 1 or group.suffix == suffix
            if is_meant and name in group.resources:
                changed = replace(group, resources={**group.resources, name: amount})
                groups = (*query.groups[:index], changed, *query.groups[index + 1 :])
                hosts = oracle.served(world, replace(query, groups=groups))
                assert len(hosts) >= int(match["hosts"]) > 0, match[0]
                checked += 1
    return checked
