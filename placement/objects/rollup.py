"""The totals of a subtree, and the sharing providers of its tree."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from sqlalchemy.engine import Connection

from placement.db.statements import provider_parts as statements
from placement.db.statements import providers as provider_statements
from placement.db.statements import sharing as sharing_statements
from placement.errors import ProviderNotFound
from placement.inventory import MAX_CAPACITY, Stock, capacity, largest
from placement.objects import identifiers, lineage


@dataclass(slots=True)
class Sum:
    """The totals of one resource class."""

    # Sum of the totals, in units of the class.
    total: int = 0
    # Sum of the reserved amounts.
    reserved: int = 0
    # Sum of the capacities.
    capacity: int = 0
    # Sum of the allocated amounts.
    used: int = 0
    # Sum of the free capacities. An overcommitted provider counts as 0.
    free: int = 0
    # Largest amount that a single provider can serve at once.
    largest: int = 0

    def add(self, other: "Sum") -> None:
        """Add other totals.

        Capacities are limited to 64 bits, because many JSON parsers have this limit.
        """
        self.total += other.total
        self.reserved += other.reserved
        self.capacity = min(self.capacity + other.capacity, MAX_CAPACITY)
        self.used += other.used
        self.free = min(self.free + other.free, MAX_CAPACITY)
        self.largest = max(self.largest, other.largest)


Sums = dict[str, Sum]  # by class


@dataclass(frozen=True, slots=True)
class Rollup:
    """The totals of a subtree."""

    providers: int
    # Totals by class.
    resources: Sums
    # Uuid of a sharing provider outside of the tree -> its totals.
    sharing: Mapping[str, Sums]


def sum_subtree(conn: Connection, uuid: str) -> Rollup:
    """Return the totals of a provider and its descendants. Raises ProviderNotFound.

    Sharing providers are included if they have an aggregate in common with any member of the whole
    tree.
    """
    rows = provider_statements.ids(identifiers.stored_forms(uuid)).rows(conn)
    top = identifiers.match([uuid], {row.uuid: row for row in rows}).get(uuid)
    if top is None:
        raise ProviderNotFound(uuid)
    root_id = top.root_provider_id
    parents = dict(provider_statements.members_of_tree(root_id).rows(conn))
    subtree = lineage.below(parents, top.id)
    sharing = _reached_sharing(conn, root_id, parents)
    sums = _sums(conn, {*subtree, *sharing})
    total = _total(sums[provider_id] for provider_id in subtree)
    outside: dict[str, Sums] = {}
    for provider_id, sharing_uuid in sharing.items():
        outside[sharing_uuid] = sums[provider_id]
    return Rollup(len(subtree), total, outside)


def _reached_sharing(
    conn: Connection, root_id: int | None, member_ids: Collection[int]
) -> dict[int, str]:
    """Return id -> uuid for the sharing providers in other trees that the members reach."""
    aggregates: set[str] = set()
    for _member_id, aggregate in statements.aggregates(member_ids).rows(conn):
        aggregates.add(identifiers.key(aggregate))
    if not aggregates:
        return {}
    sharing: dict[int, str] = {}
    for provider_id, uuid, tree, aggregate in sharing_statements.memberships().rows(conn):
        if tree != root_id and identifiers.key(aggregate) in aggregates:
            sharing[provider_id] = uuid
    return sharing


def _sums(conn: Connection, provider_ids: Collection[int]) -> dict[int, Sums]:
    sums: dict[int, Sums] = {provider_id: {} for provider_id in provider_ids}
    rows = statements.inventories(provider_ids).rows(conn)
    for provider_id, name, used, total, reserved, *units, ratio in rows:
        most = capacity(total, reserved, float(ratio))
        at_once = largest(Stock(most, used, *units))
        free = max(0, most - used)
        sums[provider_id][name] = Sum(total, reserved, most, used, free, at_once)
    return sums


def _total(sums: Iterable[Sums]) -> Sums:
    total: Sums = {}
    for provider_sums in sums:
        for name, class_sum in provider_sums.items():
            total.setdefault(name, Sum()).add(class_sum)
    return total
