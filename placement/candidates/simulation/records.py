"""The claim records of consumers: their spread groups, requests and holds."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, Set
from itertools import chain
from typing import Any, NamedTuple

from sqlalchemy.engine import Connection

from placement.candidates.model import Tree
from placement.candidates.request import CandidateRequest
from placement.candidates.simulation.consumers import MovableConsumer, totals_of
from placement.candidates.trees.resolve import ResolvedRequest
from placement.errors import Invalid
from placement.objects import claim_records, holdings, identifiers
from placement.objects.claim_records import ClaimRecord, GroupKey
from placement.objects.claims import SpreadGroup
from placement.vocabulary import SHARING_TRAIT

# Function that reads a request that was stored as JSON. Raises BadQuery.
ReadRequest = Callable[[Mapping[str, Any]], CandidateRequest]

# Project of groups that exist only in the simulation. Projects in the database have no empty names.
SIMULATED_PROJECT = ""


def remembered_requests(
    consumers: Iterable[MovableConsumer],
    records: Mapping[str, ClaimRecord],
    read: ReadRequest,
) -> dict[str, CandidateRequest | Invalid]:
    """Return canonical consumer UUID -> remembered request, or the error of reading it.

    A request is used only if its amounts are equal to the allocations of the consumer.
    """
    requests: dict[str, CandidateRequest | Invalid] = {}
    for consumer in consumers:
        record = records.get(consumer.uuid)
        if record is None:
            continue
        amounts = totals_of(consumer.allocations)
        request = claim_records.remembered_request(record.request, amounts)
        if request is not None:
            try:
                requests[identifiers.key(consumer.uuid)] = read(request)
            except Invalid as error:  # a release with different rules has stored the request
                requests[identifiers.key(consumer.uuid)] = error
    return requests


class SpreadGroups:
    """The hosts of the members of spread groups, at the current state of a simulation."""

    def __init__(
        self, groups: Mapping[str, tuple[GroupKey, int]], hosts: Mapping[GroupKey, Counter[str]]
    ) -> None:
        """Take the groups as they are before any change.

        Args:
            groups: consumer UUID -> its group, and the number of its own claim.
            hosts: group -> UUID of a root -> number of members that use the tree.
        """
        self._groups = groups
        # Group -> UUID of a root -> number of members that use the tree, after the previous
        # changes.
        self._hosts = dict(hosts)

    def full_hosts(self, group: GroupKey, max_per_host: int) -> frozenset[str]:
        """Return the roots of hosts that have the maximum number of members for a claim."""
        counts = self._hosts.get(group, Counter())
        return frozenset(root for root, number in counts.items() if number >= max_per_host)

    def of_consumer(self, uuid: str) -> tuple[GroupKey, int] | None:
        """Return the group of a consumer and the number of its own claim, or None."""
        return self._groups.get(uuid)

    def add(self, group: GroupKey, roots: Iterable[str]) -> None:
        """Count a member on hosts."""
        self._hosts.setdefault(group, Counter()).update(set(roots))

    def remove(self, group: GroupKey, roots: Iterable[str]) -> None:
        """Stop counting a member on hosts."""
        self._hosts.setdefault(group, Counter()).subtract(set(roots))


def read_spread_groups(
    conn: Connection,
    consumers: Sequence[MovableConsumer],
    records: Mapping[str, ClaimRecord],
    trees: Iterable[Tree],
    expired: Set[str],
) -> SpreadGroups:
    """Read the spread groups of consumers, and the hosts of all members of these groups.

    Args:
        conn: a connection with one snapshot.
        consumers: the consumers that may move.
        records: consumer UUID -> its record.
        trees: all trees.
        expired: UUIDs of expired holds, which are not counted as members.
    """
    groups = _groups_of(consumers, records)
    if not groups:
        return SpreadGroups({}, {})
    keys = {group for group, _number in groups.values()}
    members = {
        key: uuids.keys() - expired
        for key, uuids in claim_records.members(conn).items()
        if key in keys
    }
    held = holdings.get_for_consumers(conn, set().union(*members.values()))
    counted = {tree.uuid for tree in trees if SHARING_TRAIT not in tree.root.traits}
    roots = {each.uuid: {*each.root_of.values()} & counted for each in held}
    hosts = {
        key: Counter(chain.from_iterable(roots.get(uuid, ()) for uuid in uuids))
        for key, uuids in members.items()
    }
    return SpreadGroups(groups, hosts)


def _groups_of(
    consumers: Iterable[MovableConsumer], records: Mapping[str, ClaimRecord]
) -> dict[str, tuple[GroupKey, int]]:
    """Return consumer UUID -> its group, and the number of its own claim."""
    groups: dict[str, tuple[GroupKey, int]] = {}
    for consumer in consumers:
        record = records.get(consumer.uuid)
        if record is not None and record.spread_group is not None and consumer.row.project:
            name, max_per_host = record.spread_group
            groups[consumer.uuid] = GroupKey(consumer.row.project, name), max_per_host
    return groups


def group_of_claim(spread: SpreadGroup) -> GroupKey:
    """Return the group of a claim on copies."""
    return GroupKey(SIMULATED_PROJECT, spread.name)


# A request, or the error that reading it raised.
Resolved = ResolvedRequest | Invalid


class StatedRequests(NamedTuple):
    """The requests of consumers and claims, and their spread groups."""

    # Canonical consumer UUID -> the given or stored request for its new allocations.
    of_consumers: Mapping[str, Resolved]
    # Request of a claim, as given -> the request with resolved names.
    of_claims: Mapping[CandidateRequest, ResolvedRequest]
    # Canonical UUIDs of consumers with a given request.
    given: Collection[str]
    # The spread groups of consumers and claims, with the hosts of their members.
    groups: SpreadGroups
    # Traits that exclude a host.
    taints: frozenset[str]
