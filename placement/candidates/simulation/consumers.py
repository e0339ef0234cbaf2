"""The consumers of a simulation: their allocations, requests and spread groups."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import chain
from typing import Any, NamedTuple

from sqlalchemy.engine import Connection

from placement.candidates.request import UNSUFFIXED, CandidateRequest, RequestGroup
from placement.candidates.simulation.value import Allocations
from placement.candidates.terms import Untainted
from placement.errors import BadBody, Invalid
from placement.objects import claim_records, holdings, identifiers
from placement.objects.claim_records import ClaimRecord, GroupKey
from placement.objects.claims import SpreadGroup
from placement.objects.holdings import HoldingConsumer

# Maximum number of consumers that all changes together move.
MAX_CONSUMERS = 10_000

# Maximum number of expired holds whose resources count as free on hosts that are not drained.
MAX_EXPIRED = 10_000

# Project of groups that exist only in the simulation. Projects in the database have no empty names.
SIMULATED_PROJECT = ""

# Function that reads a request that was stored as JSON. Raises BadQuery.
ReadRequest = Callable[[Mapping[str, Any]], CandidateRequest]

# A share of a total, as a sort key. The first item is whether the total is 0 although the share is
# not.
Share = tuple[bool, Fraction]


class MovableConsumer:
    """A consumer, with its current allocations in a simulation."""

    def __init__(self, row: HoldingConsumer) -> None:
        # The consumer as it was stored before the simulation.
        self.row = row
        # Provider UUID -> class -> units.
        self.allocations: Allocations = row.allocations
        # Provider UUID -> UUID of its root. Contains all providers that the consumer has used.
        self.root_of: dict[str, str] = dict(row.root_of)
        # UUIDs of the roots of its allocations before its first move, or None before this move.
        self.origins: Sequence[str] | None = None

    @property
    def roots(self) -> list[str]:
        """The sorted UUIDs of the roots of its allocations."""
        return sorted({self.root_of[provider] for provider in self.allocations})

    def held_of(self, roots: Collection[str]) -> Allocations:
        """Return the allocations from trees with these roots."""
        return {
            provider: amounts
            for provider, amounts in self.allocations.items()
            if self.root_of[provider] in roots
        }

    def held_elsewhere(self, roots: Collection[str]) -> Allocations:
        """Return the allocations from other trees."""
        return {
            provider: amounts
            for provider, amounts in self.allocations.items()
            if self.root_of[provider] not in roots
        }


class Consumers(NamedTuple):
    """The consumers that a simulation must take into account."""

    # The consumers of hosts that a change drains, without expired holds.
    moving: list[MovableConsumer]
    # The expired holds of all hosts.
    expired: list[MovableConsumer]
    # Consumer UUID -> its record, for both kinds of consumers.
    records: Mapping[str, ClaimRecord]


def read_consumers(conn: Connection, drained: Collection[int]) -> Consumers:
    """Read the consumers that may move, and the expired holds.

    Args:
        conn: a connection with one snapshot.
        drained: ids of the roots of hosts that a change drains.

    Raises:
        BadBody: too many consumers may move.
    """
    consumers = holdings.get_in_trees(conn, drained, MAX_CONSUMERS)
    if consumers is None:
        raise BadBody(f"changes: drains may move {MAX_CONSUMERS:,} consumers together")
    # Expired holds on other hosts do not count either.
    known = {each.uuid for each in consumers}
    ended = claim_records.find_expired(conn, MAX_EXPIRED) - known
    if ended:
        others = holdings.get_for_consumers(conn, ended)
        consumers += [each for each in others if each.uuid not in known]
    records = claim_records.get_for_consumers(conn, [each.uuid for each in consumers])
    found = Consumers([], [], records)
    for each in consumers:
        record = records.get(each.uuid)
        has_ended = record is not None and record.is_expired
        (found.expired if has_ended else found.moving).append(MovableConsumer(each))
    return found


# -- sizes -------------------------------------------------------------------------------------


def totals_of(allocations: Allocations) -> dict[str, int]:
    """Return class -> units."""
    totals: dict[str, int] = {}
    for amounts in allocations.values():
        for name, amount in amounts.items():
            totals[name] = totals.get(name, 0) + amount
    return totals


def share_of(held: Allocations, capacities: Mapping[str, int]) -> Share:
    """Return the largest share of the capacity of a class.

    Args:
        held: allocations.
        capacities: class -> units of the whole cloud. If they are 0, a share of 0 units is 0, and
            any other share is larger than all shares of other classes.
    """
    shares: list[Share] = [(False, Fraction(0))]
    for name, amount in totals_of(held).items():
        capacity = max(0, capacities.get(name, 0))
        if capacity:
            shares.append((False, Fraction(amount, capacity)))
        elif amount:
            shares.append((True, Fraction(amount)))
    return max(shares)


# -- requests ----------------------------------------------------------------------------------


def remembered_requests(
    consumers: Consumers, read: ReadRequest
) -> dict[str, CandidateRequest | Invalid]:
    """Return canonical consumer UUID -> remembered request, or the error of reading it.

    A request is used only if its amounts are equal to the allocations of the consumer.
    """
    requests: dict[str, CandidateRequest | Invalid] = {}
    for consumer in consumers.moving:
        record = consumers.records.get(consumer.row.uuid)
        if record is None:
            continue
        amounts = totals_of(consumer.allocations)
        request = claim_records.remembered_request(record.request, amounts)
        if request is not None:
            key = identifiers.key(consumer.row.uuid)
            try:
                requests[key] = read(request)
            except Invalid as error:  # a release with different rules has stored the request
                requests[key] = error
    return requests


def derived_request(held: Allocations, taints: Iterable[str]) -> CandidateRequest:
    """Return a request for the same amounts.

    Args:
        held: the allocations to replace. Each provider becomes a group with a suffix, which states
            the amounts, or the group without a suffix if there is only one.
        taints: traits that exclude a host.
    """
    groups: dict[str, RequestGroup] = {}
    for provider in sorted(held):
        resources = tuple(sorted(held[provider].items()))
        suffix = UNSUFFIXED if len(held) == 1 else _suffix(resources, groups)
        groups[suffix] = RequestGroup(suffix, resources)
    root = tuple(Untainted(name) for name in sorted(taints))
    return CandidateRequest(tuple(groups.values()), root=root)


def _suffix(resources: Sequence[tuple[str, int]], used: Collection[str]) -> str:
    """Return a description of the amounts as a suffix that is not used yet.

    Suffixes of clients contain no spaces, so texts can tell the two apart.
    """
    amounts = " and ".join(f"{units} {name}" for name, units in resources)
    suffix, number = f"allocation of {amounts}", 1
    while suffix in used:
        number += 1
        suffix = f"allocation of {amounts} ({number})"
    return suffix


# -- spread groups -----------------------------------------------------------------------------


class Membership(NamedTuple):
    """The membership of a consumer or claim in a spread group."""

    # The group.
    group: GroupKey
    # Maximum number of members on its host, from its own claim.
    max_per_host: int


def membership_of(spread: SpreadGroup | None, project: str | None) -> Membership | None:
    """Return the membership of a member of a project, or None without a group or a project."""
    if spread is None or project is None:
        return None
    return Membership(GroupKey(project, spread.name), spread.max_per_host)


class SpreadGroups:
    """The trees that the members of spread groups use, at the current state of a simulation."""

    def __init__(
        self, memberships: Mapping[str, Membership], trees: Mapping[GroupKey, Counter[str]]
    ) -> None:
        """Take the groups as they are before any change."""
        # Consumer UUID -> its membership.
        self._memberships = memberships
        # Group -> UUID of a root -> number of members that use the tree after previous changes.
        self._trees = dict(trees)

    def of_consumer(self, uuid: str) -> Membership | None:
        """Return the membership of a consumer, or None."""
        return self._memberships.get(uuid)

    def full(self, member: Membership | None) -> list[str]:
        """Return the roots of trees that have the maximum number of members for a member."""
        if member is None:
            return []
        counts = self._trees.get(member.group, Counter())
        return [root for root, number in counts.items() if number >= member.max_per_host]

    def count(self, member: Membership | None, roots: Iterable[str], times: int = 1) -> None:
        """Add a member to trees, or remove it with -1 for `times`."""
        if member is not None:
            counts = self._trees.setdefault(member.group, Counter())
            for root in set(roots):
                counts[root] += times


def read_spread_groups(conn: Connection, consumers: Consumers) -> SpreadGroups:
    """Read the spread groups of consumers, and the trees that all members of these groups use.

    Expired holds are not counted as members.
    """
    memberships: dict[str, Membership] = {}
    for consumer in consumers.moving:
        record = consumers.records.get(consumer.row.uuid)
        spread = None if record is None or record.spread_group is None else record.spread_group
        member = membership_of(spread, consumer.row.project or None)
        if member is not None:
            memberships[consumer.row.uuid] = member
    if not memberships:
        return SpreadGroups({}, {})
    keys = {member.group for member in memberships.values()}
    expired = {each.row.uuid for each in consumers.expired}
    members = {
        key: uuids.keys() - expired
        for key, uuids in claim_records.members(conn).items()
        if key in keys
    }
    held = holdings.get_for_consumers(conn, set().union(*members.values()))
    roots = {each.uuid: {*each.root_of.values()} for each in held}
    return SpreadGroups(
        memberships,
        {
            key: Counter(chain.from_iterable(roots.get(uuid, ()) for uuid in uuids))
            for key, uuids in members.items()
        },
    )
