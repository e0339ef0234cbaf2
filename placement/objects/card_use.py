"""The rule of cards for allocations: one face of a card gains allocations."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

from sqlalchemy.engine import Connection

from placement.config import SpecialTraits
from placement.db.statements import cards as statements
from placement.errors import DeviceInUse
from placement.objects.cards import BELOW, CardFace, clashes
from placement.objects.inventory_rows import InventoryKey


class CardTrees:
    """The use of trees that contain cards. Providers are identified by id."""

    def __init__(self, rows: Sequence[Any]) -> None:
        """rows: as `statements.use` selects them."""
        self._rows = rows
        # Id -> one of the rows of the provider.
        self.providers = {row.id: row for row in rows}

    def _faces(self, row: Any) -> Iterator[CardFace[int]]:
        """Yield the faces that the use of a class belongs to."""
        if row.is_card:
            yield CardFace(row.id, row.resource_class)
        seen = {row.id}
        above = self.providers.get(row.parent_provider_id)
        while above is not None and above.id not in seen:  # a damaged database may have loops
            seen.add(above.id)
            if above.is_card:
                yield CardFace(above.id, BELOW)
            above = self.providers.get(above.parent_provider_id)

    @cached_property
    def used(self) -> Mapping[int, Mapping[str, Collection[str]]]:
        """Card -> name of a face -> the classes in use."""
        used: dict[int, dict[str, set[str]]] = {}
        for row in self._rows:
            for card, name in self._faces(row) if row.resource_class else ():
                used.setdefault(card, {}).setdefault(name, set()).add(row.resource_class)
        return used

    def refuse(self, added: Collection[InventoryKey]) -> None:
        """Raise DeviceInUse for the first added amount whose card is used otherwise."""
        for row in self._rows:
            if (row.id, row.resource_class_id) not in added:
                continue
            for face, other in clashes(self.used, self._faces(row)).items():
                classes = self.used[other.card][other.name]
                card = self.providers[face.card].uuid
                raise DeviceInUse(row.resource_class, row.uuid, card, sorted(classes))


def refuse_clashes(
    conn: Connection,
    special_traits: SpecialTraits,
    root_ids: Iterable[int],
    deltas: Mapping[InventoryKey, int],
) -> None:
    """Refuse the amounts that this transaction has added to cards which are used otherwise.

    The caller has locked the trees and changed `used`. Without traits of cards, nothing is read.

    Args:
        conn: the connection.
        special_traits: the traits with a special meaning.
        root_ids: the roots of the changed trees.
        deltas: (provider id, class id) -> change of `used`.

    Raises:
        DeviceInUse: an amount was added to a face of a card, and another face is in use.
    """
    traits = special_traits.cards
    if not traits:  # PERF: most services have no card
        return
    added = {key for key, delta in deltas.items() if delta > 0}
    if added:
        CardTrees(statements.use_in_trees(traits, set(root_ids)).rows(conn)).refuse(added)
