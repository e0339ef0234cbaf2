"""The spellings of aggregates: the same UUID may have several rows."""

from collections.abc import Iterable, Mapping

from sqlalchemy.engine import Connection

from placement.db.statements import names as statements
from placement.objects import identifiers


class Spellings:
    """The rows of all spellings of the aggregates of sharing providers.

    Several rows may contain the same UUID in different spellings. These rows are read on first use,
    because most requests do not need them.
    """

    def __init__(self, conn: Connection, names: Mapping[int, str]) -> None:
        """names: id -> stored spelling of the aggregates of sharing providers."""
        self._conn = conn
        self._names = names
        # Normalized UUID -> ids of its rows, or None until the rows are read.
        self._ids_by_key: Mapping[str, frozenset[int]] | None = None

    def rows(self, aggregates: Iterable[int]) -> frozenset[int]:
        """Return the ids of all rows of the aggregates with these ids."""
        if self._ids_by_key is None:
            self._ids_by_key = self._read()
        nothing: frozenset[int] = frozenset()
        keys = [identifiers.key(self._names[aggregate]) for aggregate in aggregates]
        return nothing.union(*(self._ids_by_key[key] for key in keys))

    def _read(self) -> Mapping[str, frozenset[int]]:
        ids = {name: aggregate for aggregate, name in self._names.items()}
        spellings = identifiers.spellings(*self._names.values())
        query = statements.ids({"aggregate": spellings})
        for _kind, row_id, spelling, _number in query.rows(self._conn):
            ids[spelling] = row_id
        return identifiers.ids_by_key(ids)
