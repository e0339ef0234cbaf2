"""Read the state on which a write of allocations is based.

Most writes read the state in one statement before they lock anything. Another transaction may
commit in between. Therefore, the statements that write contain conditions on the state. If several
statements are needed to read the state, they run under the locks.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
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


@dataclass(frozen=True, slots=True)
class StateQuery:
    """The providers, consumers and names whose state a write needs."""

    # Uuids.
    providers: Collection[str] = ()
    # Uuids.
    consumers: Collection[str] = ()
    # Kind -> names.
    names: Names = field(default_factory=dict)
    # Names of resource classes. They are looked up only if no provider has such an inventory.
    classes: Collection[str] = ()

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
    """Return the query for a write of claims, and of inventories of additional providers."""
    # A deleted consumer needs no project, user or type.
    names = owner_names([claim for claim in claims if claim.allocations])
    provider_uuids = claimed_providers(claims).union(providers)
    consumer_uuids = [claim.consumer for claim in claims]
    all_classes = claimed_classes(claims).union(classes)
    return StateQuery(provider_uuids, consumer_uuids, names, all_classes)


def read(conn: Connection, query: StateQuery) -> AllocationState:
    """Return the state at a single moment.

    Normally, the state is not locked. There are three exceptions: several statements are needed to
    read it, an allocation has no inventory, or an allocation has no consumer. In the second case,
    an inventory that is created concurrently would count this allocation. In the third case, a torn
    view may lack the consumer.
    """
    queries = query.queries()
    if len(queries) > 1:
        return lock(conn, query)
    state = _read(conn, query, queries)
    if state.unrecorded or any(each.is_uncounted for each in state.consumers.values()):
        return lock(conn, query)
    return state


def lock(conn: Connection, query: StateQuery) -> AllocationState:
    """Lock the trees of the providers and of all providers that consumers use. Return the state.

    Raises:
        Restart: a provider moved to another tree before the lock.
    """
    revisions = _read(conn, query, query.queries()).revisions
    locking.lock_roots(conn, revisions)
    # From here on, the trees cannot change.
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
    inventories: dict[int, dict[str, Inventory]] = {}
    for uuid, generation, row_id, root_id, revision, *inventory_row in rows["provider"]:
        revisions[root_id] = revision
        providers[uuid] = LockedProvider(uuid, generation, row_id, root_id)
        of_provider = inventories.setdefault(row_id, {})
        _provider_id, _class_id, class_name, *_fields = inventory_row
        if class_name is not None:
            of_provider[class_name] = inventory_rows.from_list(*inventory_row)
    named_consumers, revisions_used = consumers.from_rows(rows["consumer"])
    unrecorded, revisions_of_unrecorded = consumers.unrecorded_from_rows(rows["unrecorded"])
    ids = {kind: catalog.match(names, rows[kind]) for kind, names in query.names.items()}
    return AllocationState(
        identifiers.match(query.providers, providers),
        inventories,
        identifiers.match(query.consumers, named_consumers),
        {**revisions, **revisions_used, **revisions_of_unrecorded},
        {**ids, "resource_class": _class_ids(conn, query.classes, inventories)},
        {
            uuid: unrecorded[identifiers.key(uuid)]
            for uuid in query.consumers
            if identifiers.key(uuid) in unrecorded
        },
    )


def _class_ids(
    conn: Connection, names: Collection[str], inventories: Mapping[int, Mapping[str, Inventory]]
) -> dict[str, int]:
    """Return the ids of the classes of inventories, and of the requested names that exist."""
    ids: dict[str, int] = {}
    for inventories_by_class in inventories.values():
        for class_name, inventory in inventories_by_class.items():
            ids[class_name] = inventory.class_id
    # PERF: a valid claim contains no other names, because its providers have inventories of all its
    # classes.
    if others := set(names) - ids.keys():
        ids |= catalog.find_ids(conn, {"resource_class": others})["resource_class"]
    return ids


def find_consumers(conn: Connection, uuids: Collection[str]) -> dict[str, Consumer]:
    """Return the requested consumers, by the identifiers in the request."""
    query = StateQuery(consumers=uuids)
    return dict(_read(conn, query, query.queries()).consumers)
