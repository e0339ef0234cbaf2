"""Reading what a write of allocations decides on.

Most writes read it in one statement before they lock anything, and their statements are guarded:
another transaction may commit meanwhile. What takes several statements is read under the locks.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sqlalchemy.engine import Connection

from placement.db.statement import Queries, Restart
from placement.db.statements import allocation_state as statements
from placement.objects import catalog, consumers, identifiers, inventory_rows, locking
from placement.objects.allocation_change import AllocationState
from placement.objects.catalog import Names
from placement.objects.claims import Claim, claimed_classes, claimed_providers, owner_names
from placement.objects.consumers import Consumer
from placement.objects.inventory_rows import Inventory
from placement.objects.locking import LockedProvider

Rows = Iterable[Sequence[Any]]


@dataclass(frozen=True, slots=True)
class Concern:
    """What a write concerns: providers and consumers by uuid, and kind -> names."""

    providers: Collection[str] = ()
    consumers: Collection[str] = ()
    names: Names = field(default_factory=dict)

    def queries(self) -> Queries:
        """Return the statements that read all of it."""
        return statements.state(
            self.names,
            identifiers.stored_forms(*self.providers),
            identifiers.stored_forms(*self.consumers),
        )


def of_claims(
    claims: Sequence[Claim], providers: Collection[str] = (), classes: Collection[str] = ()
) -> Concern:
    """Return what a write of claims concerns, and of inventories of further providers."""
    # A consumer that is deleted needs no owner.
    names: dict[str, Collection[str]] = {
        **owner_names([claim for claim in claims if claim.allocations]),
        "resource_class": claimed_classes(claims).union(classes),
    }
    uuids = claimed_providers(claims).union(providers)
    return Concern(uuids, [claim.consumer for claim in claims], names)


def read(conn: Connection, concern: Concern) -> AllocationState:
    """Return the state that a write decides on, all of one moment.

    Nothing is locked, but for what one statement cannot name, and for allocations that no
    inventory counts: one that is created meanwhile would count them, whatever becomes of them.
    """
    queries = concern.queries()
    if len(queries) > 1:
        return lock(conn, concern)
    state = _read(conn, concern, queries)
    if any(consumer.is_uncounted for consumer in state.consumers.values()):
        return lock(conn, concern)
    return state


def lock(conn: Connection, concern: Concern) -> AllocationState:
    """Lock the trees of providers, and of all that consumers use; return the state under the locks.

    Raises Restart when something has moved to other trees between the first look and the lock.
    """
    revisions = _read(conn, concern, concern.queries()).revisions
    locking.lock_roots(conn, revisions)
    # Only now can nobody change the trees any more.
    state = _read(conn, concern, concern.queries())
    if state.revisions.keys() - revisions.keys():
        raise Restart
    return replace(state, revisions=revisions)


def _read(conn: Connection, concern: Concern, queries: Queries) -> AllocationState:
    rows: dict[str, list[Sequence[Any]]] = defaultdict(list)
    for row in queries.rows(conn):
        rows[row[0]].append(row[1:])
    revisions: dict[int, int] = {}
    providers: dict[str, LockedProvider] = {}
    for *columns, revision in rows["provider"]:
        provider = LockedProvider._make(columns)
        providers[provider.uuid] = provider
        revisions[provider.root_id] = revision
    named_consumers, revisions_used = consumers.of_rows(rows["consumer"])
    inventories = _inventories(providers.values(), rows["inventory"])
    ids: dict[str, dict[str, int]] = {}
    for kind, names in concern.names.items():
        ids[kind] = catalog.match(names, rows[kind])
    return AllocationState(
        identifiers.match(concern.providers, providers),
        inventories,
        identifiers.match(concern.consumers, named_consumers),
        {**revisions, **revisions_used},
        ids,
    )


def _inventories(
    providers: Iterable[LockedProvider], rows: Rows
) -> dict[int, dict[str, Inventory]]:
    inventories: dict[int, dict[str, Inventory]] = {provider.id: {} for provider in providers}
    for row in rows:
        inventory = inventory_rows.of_list(*row)
        if inventory.provider_id in inventories:  # not of one without a root
            inventories[inventory.provider_id][inventory.class_name] = inventory
    return inventories


def existing(conn: Connection, uuids: Collection[str]) -> dict[str, Consumer]:
    """Return the consumers that exist, by the identifiers given."""
    concern = Concern(consumers=uuids)
    return dict(_read(conn, concern, concern.queries()).consumers)
