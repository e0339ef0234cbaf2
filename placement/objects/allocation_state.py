"""Reading of the state that a write of allocations is based on.

Most writes read it in one statement before they lock anything. Another transaction may commit in
between, so the statements that write have conditions on the state. A state that needs several
statements is read under the locks.
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
class StateQuery:
    """The providers, consumers and names whose state a write needs."""

    # Uuids.
    providers: Collection[str] = ()
    # Uuids.
    consumers: Collection[str] = ()
    # Kind -> names.
    names: Names = field(default_factory=dict)

    def queries(self) -> Queries:
        """Return the statements that read the state."""
        return statements.state(
            self.names,
            identifiers.stored_forms(*self.providers),
            identifiers.stored_forms(*self.consumers),
        )


def for_claims(
    claims: Sequence[Claim], providers: Collection[str] = (), classes: Collection[str] = ()
) -> StateQuery:
    """Return the query for a write of claims, and of inventories of further providers."""
    # A deleted consumer needs no project, user or type.
    names: dict[str, Collection[str]] = {
        **owner_names([claim for claim in claims if claim.allocations]),
        "resource_class": claimed_classes(claims).union(classes),
    }
    uuids = claimed_providers(claims).union(providers)
    return StateQuery(uuids, [claim.consumer for claim in claims], names)


def read(conn: Connection, query: StateQuery) -> AllocationState:
    """Return the state, read at one moment.

    It is not locked, with two exceptions: if it does not fit one statement, and if an allocation
    has no inventory, because an inventory that is created concurrently would count this allocation.
    """
    queries = query.queries()
    if len(queries) > 1:
        return lock(conn, query)
    state = _read(conn, query, queries)
    if any(consumer.is_uncounted for consumer in state.consumers.values()):
        return lock(conn, query)
    return state


def lock(conn: Connection, query: StateQuery) -> AllocationState:
    """Lock the trees of the providers and of all providers that consumers use; return the state.

    Raises:
        Restart: a provider moved to another tree before the lock.
    """
    revisions = _read(conn, query, query.queries()).revisions
    locking.lock_roots(conn, revisions)
    # The trees cannot change any more.
    state = _read(conn, query, query.queries())
    if state.revisions.keys() - revisions.keys():
        raise Restart
    return replace(state, revisions=revisions)


def _read(conn: Connection, query: StateQuery, queries: Queries) -> AllocationState:
    rows: dict[str, list[Sequence[Any]]] = defaultdict(list)
    for row in queries.rows(conn):
        rows[row[0]].append(row[1:])
    revisions: dict[int, int] = {}
    providers: dict[str, LockedProvider] = {}
    for *columns, revision in rows["provider"]:
        provider = LockedProvider._make(columns)
        providers[provider.uuid] = provider
        revisions[provider.root_id] = revision
    named_consumers, revisions_used = consumers.from_rows(rows["consumer"])
    inventories = _inventories(providers.values(), rows["inventory"])
    ids: dict[str, dict[str, int]] = {}
    for kind, names in query.names.items():
        ids[kind] = catalog.match(names, rows[kind])
    return AllocationState(
        identifiers.match(query.providers, providers),
        inventories,
        identifiers.match(query.consumers, named_consumers),
        {**revisions, **revisions_used},
        ids,
    )


def _inventories(
    providers: Iterable[LockedProvider], rows: Rows
) -> dict[int, dict[str, Inventory]]:
    inventories: dict[int, dict[str, Inventory]] = {provider.id: {} for provider in providers}
    for row in rows:
        inventory = inventory_rows.from_list(*row)
        if inventory.provider_id in inventories:  # a provider without a root is not read
            inventories[inventory.provider_id][inventory.class_name] = inventory
    return inventories


def find_consumers(conn: Connection, uuids: Collection[str]) -> dict[str, Consumer]:
    """Return the find_consumers consumers, by the given identifiers."""
    query = StateQuery(consumers=uuids)
    return dict(_read(conn, query, query.queries()).consumers)
