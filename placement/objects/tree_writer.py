"""Write a whole tree of providers that the transaction has locked."""

import uuid as uuid_module
from collections.abc import Collection, Mapping

from sqlalchemy.engine import Connection
from sqlalchemy.exc import IntegrityError

from placement.db.dialects import dialect_of
from placement.db.statements import inventories as inventory_statements
from placement.db.statements import provider_trees as statements
from placement.db.statements import providers as provider_statements
from placement.errors import ProviderNameTaken, at_member
from placement.objects import aggregates, identifiers
from placement.objects.inventory_change import InventoryChange, inventory_change
from placement.objects.inventory_rows import Inventory
from placement.objects.tree_change import TreeChange
from placement.objects.tree_state import TreeCommand, TreeState


class TreeWriter:
    """Writes a change of a tree that the transaction has locked."""

    def __init__(
        self,
        conn: Connection,
        command: TreeCommand,
        root_id: int,
        state: TreeState,
        change: TreeChange,
    ) -> None:
        self._conn = conn
        self._command = command
        self._root_uuid = command.root_uuid
        self._root_id = root_id
        self._state = state
        self._change = change
        # UUID -> id, for the providers that already exist.
        self._ids = {uuid: member.id for uuid, member in state.members.items()}
        self._ids[command.root_uuid] = root_id

    def write(self) -> None:
        """Delete, rename, create and move providers. Then write their parts."""
        if self._change.deleted:
            self._delete()
        self._rename()
        self._create()
        self._move()
        self._write_inventories()
        of_traits, of_aggregates = self._change.traits, self._change.aggregates
        statements.remove_traits(self._links(of_traits.removed)).execute(self._conn)
        statements.add_traits(self._links(of_traits.added)).execute(self._conn)
        statements.remove_aggregates(self._links(of_aggregates.removed)).execute(self._conn)
        added = {*self._links(of_aggregates.added), *self._new_aggregates()}
        statements.add_aggregates(added).execute(self._conn)

    def _delete(self) -> None:
        """Delete providers. Their descendants become children of the root until they are moved."""
        conn, state = self._conn, self._state
        ids = {member.id for member in self._change.deleted}
        uuids = {member.key for member in self._change.deleted}
        below = {member.id for member in state.members.values() if member.parent_key in uuids}
        statements.move(dict.fromkeys(below, self._root_id)).execute(conn)
        rows = [row.id for row_id in ids for row in state.inventories[row_id].values()]
        inventory_statements.delete_unused(rows).execute(conn)
        trait_links = {(row_id, each) for row_id in ids for each in state.trait_ids[row_id]}
        statements.remove_traits(trait_links).execute(conn)
        aggregate_links = {(row_id, each) for row_id in ids for each in state.aggregate_ids[row_id]}
        statements.remove_aggregates(aggregate_links).execute(conn)
        statements.delete(ids).execute(conn)

    def _rename(self) -> None:
        """Rename providers. Two providers can exchange their names."""
        members = self._state.members
        renamed = {
            members[uuid].id: listed.name
            for uuid, listed in self._change.moved.items()
            if members[uuid].name != listed.name
        }
        old_names = {members[uuid].name.casefold() for uuid in self._change.moved}
        if any(name.casefold() in old_names for name in renamed.values()):
            between = {row_id: f"renamed {uuid_module.uuid4()}" for row_id in renamed}
            statements.rename(between).execute(self._conn)
        try:
            statements.rename(renamed).execute(self._conn)
        except IntegrityError:
            self._refuse_equal_names(renamed)
            raise

    def _create(self) -> None:
        """Create providers as children of the root."""
        new = [listed for listed in self._change.created if listed.uuid != self._root_uuid]
        if not new:
            return
        rows = [(listed.uuid, listed.name, int(listed.has_parts)) for listed in new]
        try:
            statements.create(rows, self._root_id).execute(self._conn)
        except IntegrityError:
            self._refuse_equal_names({})
            raise
        for row in provider_statements.locked([listed.uuid for listed in new]).rows(self._conn):
            self._ids[row.uuid] = row.id

    def _refuse_equal_names(self, renamed: Mapping[int, str]) -> None:
        """Raise ProviderNameTaken if the database does not distinguish two names of the tree.

        A duplicate has made a statement of this transaction fail. On engines that compare bytes,
        it can only be a provider of another transaction. On other engines, the failed statement has
        had no effect and the transaction continues. Its names are written one by one to find the
        first one that is taken. The caller then ends the transaction with an error.

        Args:
            renamed: names by id, if the providers of the tree have not been renamed yet.
        """
        if not dialect_of(self._conn).bytes_of_text:
            return
        between = {row_id: f"renamed {uuid_module.uuid4()}" for row_id in renamed}
        statements.rename(between).execute(self._conn)
        for index, listed in enumerate(self._command.providers):
            row_id = self._ids.get(listed.uuid)
            clashing = provider_statements.clashing(listed.uuid, listed.name).rows(self._conn)
            for _id, uuid, name in clashing:
                if identifiers.key(uuid) != listed.uuid:
                    with at_member(f"providers[{index}].name"):
                        raise ProviderNameTaken(listed.name, name)
            if row_id is None:
                row = (listed.uuid, listed.name, 0)
                statements.create([row], self._root_id).execute(self._conn)
            elif row_id in renamed:
                statements.rename({row_id: listed.name}).execute(self._conn)

    def _move(self) -> None:
        """Set the parents of moved providers, and of new ones that are not children of the root."""
        members = self._state.members
        parents: dict[int, int] = {}
        for listed in (*self._change.created, *self._change.moved.values()):
            member = members.get(listed.uuid)
            present = self._root_uuid if member is None else member.parent_key
            if listed.parent_uuid is not None and present != listed.parent_uuid:
                parents[self._ids[listed.uuid]] = self._ids[listed.parent_uuid]
        statements.move(parents).execute(self._conn)

    def _write_inventories(self) -> None:
        records = {
            self._ids[listed.uuid]: listed.inventories
            for listed in self._change.created
            if listed.inventories
        }
        nothing: dict[int, dict[str, Inventory]] = {row_id: {} for row_id in records}
        new = inventory_change(self._conn, nothing, records, self._state.class_ids)
        new.insert_and_update(self._conn, are_new=True)
        changes = self._change.inventories.values()
        change = InventoryChange(
            tuple(row for each in changes for row in each.created),
            {row_id: record for each in changes for row_id, record in each.updated.items()},
            tuple(row for each in changes for row in each.deleted),
        )
        change.insert_and_update(self._conn)
        change.delete(self._conn)

    def _links(self, ids: Mapping[str, Collection[int]]) -> set[tuple[int, int]]:
        """Return (provider id, id) for each trait or aggregate, given by UUID of the provider."""
        return {(self._ids[uuid], row_id) for uuid, row_ids in ids.items() for row_id in row_ids}

    def _new_aggregates(self) -> set[tuple[int, int]]:
        """Create aggregates. Return (provider id, aggregate id) pairs."""
        created = self._change.aggregates.created
        texts = [text for of_provider in created.values() for text in of_provider]
        if not texts:
            return set()
        ids = identifiers.match(texts, aggregates.create(self._conn, texts))
        return {
            (self._ids[uuid], ids[text])
            for uuid, of_provider in created.items()
            for text in of_provider
        }
