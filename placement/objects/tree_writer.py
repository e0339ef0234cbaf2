"""The write of providers: of a part, of a provider, or of a whole tree.

A write reads first, and then locks its trees if they have not changed. Every transaction that
changes a tree renews its revision. If the revision is the same under the lock, the state that was
read is still valid. The lock is therefore held only while the change is written. If a request is
rejected or changes nothing, it does not lock the tree.
"""

import uuid as uuid_module
from collections.abc import Callable, Collection, Mapping
from datetime import datetime
from functools import partial
from typing import Protocol, TypeVar

from sqlalchemy.engine import Connection
from sqlalchemy.exc import IntegrityError

from placement.db.dialects import dialect_of
from placement.db.statement import Contended, Restart, is_contended, send
from placement.db.statements import associations, locks
from placement.db.statements import provider_trees as statements
from placement.db.statements import providers as provider_statements
from placement.errors import ProviderNameTaken, at_member
from placement.objects import catalog, identifiers, locking, revisions
from placement.objects.inventory_change import InventoryChange, inventory_change
from placement.objects.inventory_rows import Inventory
from placement.objects.tree_state import LinkChange, TreeChange
from placement.runtime import stopwatch


class TreeView(Protocol):
    """The state on which a change is based. One view of the database has shown all of it."""

    @property
    def revisions(self) -> Mapping[int, int]:
        """Root id -> revision, of the existing trees that the write changes."""


AnyView = TypeVar("AnyView", bound=TreeView)
Spellings = Mapping[str, str]  # new aggregate, as requested -> its stored spelling


def write(
    conn: Connection,
    read: Callable[[], AnyView],
    decide: Callable[[AnyView], TreeChange],
    is_complete: Callable[[AnyView], bool],
) -> tuple[AnyView, TreeChange, Spellings]:
    """Determine a change of trees, lock the trees, and write the change.

    Args:
        read: reads the state; it may be called twice.
        decide: returns the change for a state, or raises.
        is_complete: returns whether the state that was read without a lock contains all of the
            content of its revisions (`objects/revisions.py`).

    Returns:
        The state before the change, the change, and the spellings of new aggregates.

    Raises:
        Restart: a tree has changed, or keeps changing. The next attempt locks the trees before it
            reads them.
        The errors of `read` and `decide`.
    """
    state = read()
    if not is_complete(state) or is_contended(conn):
        # Other transactions may be writing to these trees. Lock them before the second read.
        root_ids = state.revisions.keys()
        with stopwatch.LOCKS:
            locks.revisions(root_ids).rows(conn)
        state = read()
        if state.revisions.keys() != root_ids:
            raise Restart
    change = decide(state)
    _lock(conn, state, change)
    return state, change, TreeWriter(conn, change).write()


def later_views(conn: Connection, *uuids: str) -> Callable[[TreeView], bool]:
    """Return a function that returns whether a later view of these providers is complete.

    On engines with torn views (`objects/revisions.py`), this function reads the revisions. If a
    later view shows the same revisions, it shows all of their content.
    """
    if not revisions.may_tear(conn):
        return lambda _view: True
    seen = revisions.get_for_providers(conn, *uuids)
    return lambda view: view.revisions.items() <= seen.items()


def _lock(conn: Connection, state: TreeView, change: TreeChange) -> None:
    """Lock the trees if the change requires it, and increment generations.

    Raises:
        Contended: a tree has changed since it was read.
    """
    if state.revisions and change.locks:
        roots: dict[int, int] = {}
        others: dict[int, int] = {}
        for row_id, generation in change.bumped.items():
            (roots if row_id in state.revisions else others)[row_id] = generation
        locking.lock_unchanged(conn, state.revisions, roots, roots, failure=Contended)
        provider_statements.bump_generations(dict.fromkeys(others, 1), others).execute(conn)


class TreeWriter:
    """Writes a change of a tree that the transaction has locked."""

    def __init__(self, conn: Connection, change: TreeChange) -> None:
        self._conn = conn
        self._change = change
        # UUID -> id, for the providers that exist.
        self._ids = dict(change.ids)

    def write(self) -> Spellings:
        """Delete, rename, create and move providers. Then write their parts."""
        self._delete()
        self._rename()
        self._create()
        self._move()
        self._write_inventories()
        self._write_links("trait", self._change.traits)
        return self._write_links("aggregate", self._change.aggregates)

    def _delete(self) -> None:
        """Delete providers. Their descendants become children of the root until they are moved."""
        change = self._change
        if change.deleted:
            root_id = self._ids.get(change.root_uuid, 0)
            statements.move(dict.fromkeys(change.detached, root_id)).execute(self._conn)
            is_root = root_id in change.deleted
            provider_statements.delete(change.deleted, is_root=is_root).execute(self._conn)

    def _rename(self) -> None:
        """Rename providers. Two providers can exchange their names."""
        renamed = {row_id: new for row_id, (_old, new) in self._change.renamed.items()}
        old_names = {old.casefold() for old, _new in self._change.renamed.values()}
        if any(name.casefold() in old_names for name in renamed.values()):
            self._free_names()
        try:
            statements.rename(renamed).execute(self._conn)
            if renamed:
                send(self._conn)
        except IntegrityError:
            self._refuse_equal_names()
            raise

    def _free_names(self) -> None:
        """Give temporary names to the providers that are renamed."""
        between = {row_id: f"renamed {uuid_module.uuid4()}" for row_id in self._change.renamed}
        statements.rename(between).execute(self._conn)

    def _create(self) -> None:
        """Create providers. A child of a new provider becomes a child of the root first."""
        root_uuid, new = self._change.root_uuid, self._change.created
        if new and root_uuid not in self._ids:
            root, *new = sorted(new, key=lambda listed: listed.uuid != root_uuid)
            generation = int(root.has_parts)
            self._ids[root_uuid], _ = create_root(self._conn, root_uuid, root.name, generation)
        if not new:
            return
        root_id = self._ids[root_uuid]
        rows = []
        for listed in new:
            parent_id = self._ids.get(listed.parent_uuid or "", root_id)
            rows.append((listed.uuid, listed.name, int(listed.has_parts), parent_id))
        try:
            statements.create(rows, root_id).execute(self._conn)
            send(self._conn)
        except IntegrityError:
            self._refuse_equal_names()
            raise
        for row in provider_statements.ids([listed.uuid for listed in new]).rows(self._conn):
            self._ids[row.uuid] = row.id

    def _refuse_equal_names(self) -> None:
        """Raise ProviderNameTaken if the database does not distinguish two names of the tree.

        A duplicate has made a statement of this transaction fail. On engines that compare bytes,
        it can only be a provider of another transaction. On other engines, the failed statement has
        had no effect and the transaction continues. Its names are written one by one to find the
        first one that is taken. The caller then ends the transaction with an error.
        """
        if not dialect_of(self._conn).bytes_of_text:
            return
        self._free_names()
        for index, listed in enumerate(self._change.listed):
            clashing = statements.with_uuid_or_name([listed.uuid], listed.name).rows(self._conn)
            for _id, uuid, name, *_others in clashing:
                if identifiers.key(uuid) != listed.uuid:
                    with at_member(f"providers[{index}].name"):
                        raise ProviderNameTaken(listed.name, name)
            row_id = self._ids.get(listed.uuid)
            if row_id is None:
                root_id = self._ids[self._change.root_uuid]
                row = (listed.uuid, listed.name, 0, root_id)
                statements.create([row], root_id).execute(self._conn)
            elif row_id in self._change.renamed:
                statements.rename({row_id: listed.name}).execute(self._conn)

    def _move(self) -> None:
        """Set the parents and trees of moved providers, and the parents of children of new ones."""
        parents = dict(self._change.moved)
        new = {listed.uuid for listed in self._change.created} - {self._change.root_uuid}
        for listed in self._change.created:
            if listed.parent_uuid in new:
                parents[listed.uuid] = listed.parent_uuid
        ids: dict[int, int | None] = {}
        for uuid, parent in parents.items():
            ids[self._ids[uuid]] = None if parent is None else self._ids[parent]
        statements.move(ids).execute(self._conn)
        for root_id, row_ids in self._change.new_roots.items():
            provider_statements.set_root(row_ids, root_id).execute(self._conn)
            if root_id in row_ids:  # its old revision may be that of an earlier tree
                locking.renew_revisions(self._conn, [root_id])

    def _write_inventories(self) -> None:
        records = {
            self._ids[listed.uuid]: listed.inventories
            for listed in self._change.created
            if listed.inventories
        }
        nothing: dict[int, dict[str, Inventory]] = {row_id: {} for row_id in records}
        new = inventory_change(self._conn, nothing, records, self._change.class_ids)
        new.insert_and_update(self._conn, are_new=True)
        change = InventoryChange.union(self._change.inventories)
        change.insert_and_update(self._conn)
        change.delete(self._conn)

    def _write_links(self, kind: str, change: LinkChange) -> Spellings:
        """Write traits or aggregates. Return the spellings of new aggregates."""
        texts = [text for _uuid, text in change.created]
        ids = _create_aggregates(self._conn, texts) if texts else {}
        stored = identifiers.match(texts, {spelling: spelling for spelling in ids})
        added = change.added | {(uuid, ids[stored[text]]) for uuid, text in change.created}
        associations.remove(kind, self._with_ids(change.removed)).execute(self._conn)
        associations.add(kind, self._with_ids(added)).execute(self._conn)
        return stored

    def _with_ids(self, links: Collection[tuple[str, int]]) -> set[tuple[int, int]]:
        """Replace the UUIDs of providers by their ids."""
        return {(self._ids[uuid], row_id) for uuid, row_id in links}


def _create_aggregates(conn: Connection, texts: Collection[str]) -> dict[str, int]:
    """Create rows for aggregates that have none in any spelling. Return spelling -> id.

    If the request contains several spellings of an aggregate, the row contains the first one.
    """
    spellings: dict[str, str] = {}
    for text in texts:
        spellings.setdefault(identifiers.key(text), identifiers.new_spelling(text))
    return catalog.create(conn, {"aggregate": spellings.values()})["aggregate"]


def create_root(
    conn: Connection, uuid: str, name: str, generation: int = 0
) -> tuple[int, datetime]:
    """Create the root of a new tree with a UUID and a name that are free.

    Returns the id and the time of creation.
    """
    revision = locking.new_revision()
    row = provider_statements.create(uuid, name, None, None, revision, generation)
    row_id = row.insert(conn)
    # The root id of a root is its own id, which is generated by the INSERT.
    provider_statements.set_root([row_id], row_id).execute(conn)
    are_free = partial(_are_free, uuid=uuid, name=name)
    locking.leave_commit_marker(conn, {row_id: None}, revision, are_free)
    return row_id, row.params["created_at"]


def _are_free(conn: Connection, uuid: str, name: str) -> bool:
    """Return whether the uuid and the name are free. Wait for transactions that are using them."""
    attempt = conn.begin_nested()
    try:
        provider_statements.create(uuid, name, None, None, 0).execute(conn)
    except IntegrityError:
        return False
    finally:
        attempt.rollback()
    return True
