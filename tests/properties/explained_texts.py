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
FREE = re.compile(r"(?P<asked>\d+) (?P<name>\w+) free \(the most is (?P<value>\d+)\)")
MAX_UNIT = re.compile(
    r"(?P<asked>\d+) (?P<name>\w+) \(the largest (?:max_unit )?is (?P<value>\d+)"
    r"(?:, the most free is (?P<free>\d+))?\)"
)
SMALLEST = re.compile(
    r"(?P<asked>\d+) (?P<name>\w+) \(the smallest is (?P<value>\d+)"
    r"(?:, so (?P<next>\d+) would fit)?\)"
)
ROOM = re.compile(
    r"no provider with room for (?P<asked>\d+) (?P<name>[A-Z_\d]+)(?: for [\w ]+)? "
    r"\(the most is (?P<value>\d+)(?:, but [^)]*)?\)"
)
NEAR = re.compile(
    r"(?P<free>\d+)(?: (?P<class>\w+))? free with "
    r"(?P<unit>max_unit|min_unit|step_size) (?P<value>\d+)(?:, so (?P<next>\d+) would fit)?"
)
TOO_LITTLE = re.compile(
    r"room for (?P<asked>\d+) (?P<name>[A-Z_\d]+) "
    r"\(the most free is (?P<value>\d+), too little for min_unit or step_size\)"
)
OWN_ROOM = re.compile(
    r"no room for (?P<asked>\d+) (?P<name>[A-Z_\d]+)(?: for [\w ]+)?: "
    r"(?:at most )?(?P<value>\d+) of (?:its|their) own"
)
POOL = re.compile(
    r"(?P<pool>[\w-]+) \((?:(?P<unit>max_unit|min_unit|step_size) (?P<value>\d+) "
    r"(?P<of>\w+)(?:, so \d+ would fit)?(?:, (?P<left>\d+) free)?|"
    r"(?P<free>\d+) (?P<name>\w+) free(?:, too little for min_unit or step_size)?)"
    r"(?P<other>, (?:outside|without|with|in) [^)]*)?\)?\)"
)
BOTH = re.compile(
    r"No host (?:has|is in) both (?P<one>.*?) \((?P<first>\d+) hosts?[^)]*\) and "
    r"(?P<other>.*?) \((?P<second>\d+) hosts?[^)]*\)"
)
SPLIT = re.compile(r"With can_split=(?P<names>[\w,]+) \(placement 2\.0\), (?P<hosts>\d+) host")
WITH_TAINT = re.compile(
    r"Without (?:(?P<place>in_tree|subtree) \S+|requiring trait (?P<trait>\w+)|[^.]*?)"
    r"(?: for (?:the unsuffixed group|group (?P<suffix>\w+)))? and without the taint "
    r"(?P<taint>\w+), (?P<hosts>\d+) host"
)
ON_ROOT = re.compile(r"With root_required=(?P<trait>\w+) instead, (?P<hosts>\d+) host")
NO_TRAIT = re.compile(
    r"(?:has|have) no provider with (?:any of the )?traits? (?P<traits>[\dA-Z_, ]+)"
)
TRAIT = re.compile(r"trait (\w+)")
ONLY_POOLS = re.compile(
    r"(?:has|have) (?P<traits>trait .*?) only on the sharing providers? (?!.*, which)"
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
    conflict = BOTH.search(text)
    if conflict is not None:
        _check_conflict(hosts, query, conflict)
        checked += 1
    split = SPLIT.search(text)
    if split is not None:
        _check_split(world, query, split)
        checked += 1
    checked += _check_taint(world, query, text)
    checked += _check_root(world, query, text)
    _outcome, _dot, reasons = text.partition(". ")
    if conflict is None and not reasons.startswith("There is no") and reasons:
        clauses = list(_clauses(reasons.split(". ")[0].rstrip(".")))
        counted = sum(number for number, _predicate in clauses)
        if not any(reasons.startswith(word) for word in ("Without", "With ")):
            assert counted == len(hosts) - served, (counted, len(hosts), served)
        inside = [host for host in hosts if not _is_outside(host, query)]
        for number, predicate in clauses:
            is_elsewhere = re.match(r"(is|are) not in ", predicate)
            looked = hosts if is_elsewhere else inside
            checked += _check_clause(world, query, looked, number, predicate)
            checked += _check_own(query, looked, number, predicate)
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
        _check(hosts, number, predicate, "room for ", OWN_ROOM, _room, largest=True),
    ]
    if "no provider with room for " in predicate:
        checks += [_check_near(hosts, predicate, match) for match in NEAR.finditer(predicate)]
    if "room for each group" in predicate:
        able = {each.root.uuid for each in hosts}
        for group in query.groups:
            for name in group.resources if not group.suffix else [""]:
                resources = {name: group.resources[name]} if name else group.resources
                if resources:
                    alone = replace(group, suffix="_", resources=resources, required=())
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
    for match in POOL.finditer(predicate):
        _check_pool(world, predicate, match)
        checks.append(True)
    return sum(checks)


def _check_near(hosts: Sequence[Host], predicate: str, match: re.Match[str]) -> bool:
    """Check that a provider has the free units and refuses them because of the field."""
    amounts = re.findall(r"(\d+) ([A-Z_\d]+)", predicate.partition(" (")[0])
    asked = {name: int(amount) for amount, name in amounts}
    name = match["class"] or next(iter(asked))
    following = match["next"]
    providers = [each for host in hosts for each in host.own]
    stocked = [
        (each, each.inventories[name])
        for each in providers
        if asked.keys() <= each.inventories.keys()
    ]
    assert any(
        all(_free(each.inventories[other], 0) >= asked[other] for other in asked)
        and _free(inventory, 0) == int(match["free"])
        and getattr(inventory, match["unit"]) == int(match["value"])
        and not inventory.fits(asked[name])
        and (following is None or int(following) > asked[name])
        for each, inventory in stocked
    ), predicate
    return True


def _check_own(query: oracle.Query, hosts: Sequence[Host], number: int, predicate: str) -> int:
    """Check that providers of the hosts lack room only if they have the required traits."""
    only = ONLY_POOLS.match(predicate)
    if only is not None and " any of " not in predicate:
        traits = set(TRAIT.findall(only["traits"]))
        found = [host for host in hosts if not any(traits <= set(each.traits) for each in host.own)]
        assert len(found) >= number, predicate
        return 1
    room = OWN_ROOM.search(predicate)
    if room is None:
        return 0
    groups = [
        group for group in query.groups if group.resources.get(room["name"]) == int(room["asked"])
    ]
    found = [host for host in hosts if any(_has_traits(host, group) for group in groups)]
    assert len(found) >= number, predicate
    return 1


def _has_traits(host: Host, group: oracle.Group) -> bool:
    """Whether a provider of the host has each required trait that a sharing provider has."""
    pools = [each for each in host.shared if group.resources.keys() & each.inventories.keys()]
    for names in group.required:
        with_trait = [each for each in pools if names & each.traits]
        if with_trait and not any(names & each.traits for each in host.own):
            return False
    return True


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
    if phrase not in predicate or not re.match(r"(has|have) no (provider|room)", predicate):
        return False
    together = " together" in predicate or "only on different" in predicate
    choose = max if largest else min
    found = False
    for match in pattern.finditer(predicate):
        asked, name, value = int(match["asked"]), match["name"], int(match["value"])
        own = pattern is OWN_ROOM
        values = {
            host.root.uuid: choose(
                value_of(each.inventories[name], asked)
                for each in (host.own if own else host.pool)
                if name in each.inventories
            )
            for host in hosts
            if any(name in each.inventories for each in (host.own if own else host.pool))
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
        following = match.groupdict().get("next")
        if following is not None:
            assert int(following) > asked
            assert any(
                each.inventories[name].fits(int(following))
                for host in hosts
                for each in host.pool
                if name in each.inventories
            ), predicate
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


def _check_pool(world: oracle.World, predicate: str, match: re.Match[str]) -> None:
    (pool,) = (each for each in world.values() if each.name == match["pool"])
    assert oracle.SHARING in pool.traits, predicate
    if match["other"] is not None:
        assert "would fit" not in match[0], predicate
    if match["free"] is not None:
        assert _free(pool.inventories[match["name"]], 0) == int(match["free"]), predicate
        return
    inventory = pool.inventories[match["of"]]
    assert int(match["value"]) == getattr(inventory, match["unit"]), predicate
    assert match["left"] is None or int(match["left"]) == _free(inventory, 0), predicate


def _check_conflict(hosts: Sequence[Host], query: oracle.Query, match: re.Match[str]) -> None:
    one, other = (_having(hosts, query, match[side]) for side in ("one", "other"))
    assert (len(one), len(other)) == (int(match["first"]), int(match["second"])), match[0]
    assert one.isdisjoint(other), match[0]
    assert one, match[0]
    assert other, match[0]


def _having(hosts: Sequence[Host], query: oracle.Query, noun: str) -> set[str]:
    """Return the roots of hosts with a property."""
    names = set(AGGREGATES.findall(noun)) if "aggregate" in noun else set(NAMES.split(noun))
    names = {name.split(" ")[-1] for name in names}
    stating = [
        group
        for group in query.groups
        if names in map(set, group.member_of if "aggregate" in noun else group.required)
    ]
    found = set()
    for host in hosts:
        if "root" in noun:
            providers: Sequence[oracle.Provider] = [host.root]
        elif "inventory of" in noun:
            providers = host.pool
        else:
            # The property of a sharing provider without a class of the group does not matter.
            providers = [
                *host.own,
                *(
                    each
                    for each in [*host.shared, *host.others]
                    for group in stating
                    if not group.resources
                    or not group.resources.keys().isdisjoint(each.inventories)
                ),
            ]
        for each in providers:
            if "inventory of" in noun:
                has = not names.isdisjoint(each.inventories)
            else:
                has = not names.isdisjoint(each.aggregates if "aggregate" in noun else each.traits)
            if has:
                found.add(host.root.uuid)
    return found


def _check_taint(world: oracle.World, query: oracle.Query, text: str) -> int:
    """Check the number of hosts that would serve without a tree or trait, and without a taint."""
    match = WITH_TAINT.search(text)
    if match is None:
        return 0
    kept = replace(query, taints=query.taints & query.untolerated - {match["taint"]})
    groups = []
    for group in query.groups:
        if len(query.groups) == 1 or group.suffix == (match["suffix"] or ""):
            required = frozenset({match["trait"]})
            if match["place"] == "in_tree":
                group = replace(group, in_tree=None)
            elif match["place"] == "subtree":
                group = replace(group, subtree=None)
            elif required in group.required:
                left = tuple(names for names in group.required if names != required)
                group = replace(group, required=left)
            else:
                return 0
        groups.append(group)
    hosts = oracle.served(world, replace(kept, groups=tuple(groups)))
    assert len(hosts) == int(match["hosts"]), match[0]
    return 1


def _check_root(world: oracle.World, query: oracle.Query, text: str) -> int:
    """Check the number of hosts that would serve with a trait of a group on the root instead."""
    match = ON_ROOT.search(text)
    if match is None:
        return 0
    names = frozenset({match["trait"]})
    numbers = []
    for index, group in enumerate(query.groups):
        if names in group.required:
            left = replace(group, required=tuple(each for each in group.required if each != names))
            groups = (*query.groups[:index], left, *query.groups[index + 1 :])
            moved = replace(query, groups=groups, root_required=(*query.root_required, names))
            numbers.append(len(oracle.served(world, moved)))
    assert int(match["hosts"]) in numbers, match[0]
    return 1


def _check_split(world: oracle.World, query: oracle.Query, match: re.Match[str]) -> None:
    names = frozenset(match["names"].split(","))
    groups = tuple(
        group if group.suffix else replace(group, can_split=group.can_split | names)
        for group in query.groups
    )
    served = oracle.served(world, replace(query, groups=groups))
    assert len(served) == int(match["hosts"]), match[0]
