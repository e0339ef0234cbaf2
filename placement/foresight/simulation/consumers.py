"""The consumers of a simulation: their allocations, requests and spread groups."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import chain
from typing import Any, NamedTuple

from sqlalchemy.engine import Connection

from placement.candidates.request import UNSUFFIXED, CandidateRequest, RequestGroup
from placement.candidates.terms import Untainted
from placement.config import SpecialTraits
from placement.errors import BadBody, Invalid
from placement.foresight.simulation.value import Allocations, ConsumerMove, Mappings, RequestSource
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

    def __init__(self, row: HoldingConsumer, record: ClaimRecord | None) -> None:
        """Take a consumer, and its record if it has one, as they were stored."""
        # The consumer as it was stored before the simulation.
        self.row = row
        # Provider UUID -> class -> units.
        self.allocations: Allocations = row.allocations
        # Provider UUID -> UUID of its root. Contains all providers that the consumer has used.
        self.root_of: dict[str, str] = dict(row.root_of)
        # UUIDs of the roots of its allocations before its first move, or None before this move.
        self.origins: Sequence[str] | None = None
        # Whether it is an expired hold.
        self.is_expired = False
        # The stored request as JSON, if its amounts are equal to the allocations, or None.
        self.remembered: Mapping[str, Any] | None = None
        # Its membership in a spread group, or None.
        self.member: Membership | None = None
        if record is not None:
            self.is_expired = record.is_expired
            amounts = claim_records.sum_by_class(row.allocations.values())
            self.remembered = claim_records.remembered_request(record.request, amounts)
            self.member = membership_of(record.spread_group, row.project)

    @property
    def roots(self) -> list[str]:
        """The sorted UUIDs of the roots of its allocations."""
        return sorted({self.root_of[provider] for provider in self.allocations})

    def split(self, roots: Collection[str]) -> tuple[Allocations, Allocations]:
        """Return the allocations from trees with these roots, and the other allocations."""
        within: dict[str, Mapping[str, int]] = {}
        elsewhere: dict[str, Mapping[str, int]] = {}
        for provider, amounts in self.allocations.items():
            (within if self.root_of[provider] in roots else elsewhere)[provider] = amounts
        return within, elsewhere

    def move(self, source: RequestSource, mappings: Mappings) -> ConsumerMove:
        """Return its move from the first place to the last."""
        origins = self.origins or ()
        return ConsumerMove(self.row, origins, self.roots, source, self.allocations, mappings)


def read_consumers(conn: Connection, drained: Collection[int]) -> list[MovableConsumer]:
    """Read the consumers that may move, and the expired holds of all hosts.

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
    ended = claim_records.find_expired(conn, MAX_EXPIRED) - {each.uuid for each in consumers}
    if ended:
        consumers += holdings.get_for_consumers(conn, ended)
    records = claim_records.get_for_consumers(conn, [each.uuid for each in consumers])
    return [MovableConsumer(each, records.get(each.uuid)) for each in consumers]


# -- sizes -------------------------------------------------------------------------------------


def share_of(held: Allocations, capacities: Mapping[str, int]) -> Share:
    """Return the largest share of the capacity of a class.

    Args:
        held: allocations.
        capacities: class -> units of the whole cloud. If they are 0, a share of 0 units is 0, and
            any other share is larger than all shares of other classes.
    """
    shares: list[Share] = [(False, Fraction(0))]
    for name, amount in claim_records.sum_by_class(held.values()).items():
        capacity = max(0, capacities.get(name, 0))
        if capacity:
            shares.append((False, Fraction(amount, capacity)))
        elif amount:
            shares.append((True, Fraction(amount)))
    return max(shares)


# -- requests ----------------------------------------------------------------------------------


def remembered_requests(
    consumers: Iterable[MovableConsumer], read: ReadRequest
) -> dict[str, CandidateRequest | Invalid]:
    """Return canonical consumer UUID -> remembered request, or the error of reading it."""
    requests: dict[str, CandidateRequest | Invalid] = {}
    for consumer in consumers:
        if consumer.remembered is not None:
            key = identifiers.key(consumer.row.uuid)
            try:
                requests[key] = read(consumer.remembered)
            except Invalid as error:  # a release with different rules has stored the request
                requests[key] = error
    return requests


def derived_request(held: Allocations, traits: SpecialTraits) -> CandidateRequest:
    """Return a request for the same amounts.

    Args:
        held: the allocations to replace. Each provider becomes a group with a suffix, which states
            the amounts, or the group without a suffix if there is only one.
        traits: the special traits of the service.
    """
    groups: dict[str, RequestGroup] = {}
    for provider in sorted(held):
        resources = tuple(sorted(held[provider].items()))
        suffix = UNSUFFIXED if len(held) == 1 else _suffix(resources, groups)
        groups[suffix] = RequestGroup(suffix, resources)
    root = tuple(Untainted(name) for name in sorted(traits.taints))
    return CandidateRequest(tuple(groups.values()), root=root, special_traits=traits)


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

    def __init__(self, trees: Mapping[GroupKey, Counter[str]]) -> None:
        """Take the groups as they are before any change."""
        # Group -> UUID of a root -> number of members that use the tree after previous changes.
        self._trees = dict(trees)

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


def read_spread_groups(conn: Connection, consumers: Collection[MovableConsumer]) -> SpreadGroups:
    """Read the trees that all members of the spread groups of consumers use.

    Expired holds among the consumers are not counted as members.
    """
    expired = {each.row.uuid for each in consumers if each.is_expired}
    keys = {each.member.group for each in consumers if each.member and not each.is_expired}
    if not keys:
        return SpreadGroups({})
    members = {key: set(uuids) for key, uuids in claim_records.members(conn).items() if key in keys}
    held = holdings.get_for_consumers(conn, set().union(*members.values()) - expired)
    roots = {each.uuid: {*each.root_of.values()} for each in held}
    return SpreadGroups(
        {
            key: Counter(chain.from_iterable(roots.get(uuid, ()) for uuid in uuids))
            for key, uuids in members.items()
        }
    )
