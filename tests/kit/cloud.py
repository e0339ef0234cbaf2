"""Clouds of any size, put straight into the tables."""

from collections.abc import Mapping, Sequence

import sqlalchemy as sa

from placement.db import tables as t
from placement.objects import catalog, derived

SHARING = "MISC_SHARES_VIA_AGGREGATE"


class Cloud:
    """Providers gathered in memory, then written at once by `save`."""

    def __init__(self, conn: sa.Connection) -> None:
        self._conn = conn
        self._rows: dict[str, list[dict[str, object]]] = {
            "providers": [], "inventories": [], "traits": [], "aggregates": []
        }  # fmt: skip
        self._roots: dict[int, int] = {}
        self._classes = catalog.find_ids(conn, {"resource_class": catalog.STANDARD_CLASSES})
        self._traits: dict[str, int] = {}
        self._aggregates: dict[str, int] = {}

    def add(
        self,
        name: str,
        stock: Mapping[str, int] | None = None,
        *,
        parent: int | None = None,
        traits: Sequence[str] = (),
        aggregates: Sequence[str] = (),
    ) -> int:
        """Add a provider; its id is returned, its uuid is made of that."""
        row_id = len(self._rows["providers"]) + 1
        self._roots[row_id] = row_id if parent is None else self._roots[parent]
        self._rows["providers"].append(
            {
                "id": row_id,
                "uuid": uuid(row_id),
                "name": name,
                "generation": 0,
                "parent_provider_id": parent,
                "root_provider_id": self._roots[row_id],
            }
        )
        for class_name, total in (stock or {}).items():
            self._rows["inventories"].append(
                {
                    "resource_provider_id": row_id,
                    "resource_class_id": self._classes["resource_class"][class_name],
                    "total": total,
                    "reserved": 0,
                    "min_unit": 1,
                    "max_unit": total,
                    "step_size": 1,
                    "allocation_ratio": 1.0,
                }
            )
        self._link("traits", "trait_id", row_id, self._ids("trait", self._traits, traits))
        ids = self._ids("aggregate", self._aggregates, aggregates)
        self._link("aggregates", "aggregate_id", row_id, ids)
        return row_id

    def _link(self, rows: str, column: str, row_id: int, ids: Sequence[int]) -> None:
        self._rows[rows] += [{"resource_provider_id": row_id, column: each} for each in ids]

    def _ids(self, kind: str, known: dict[str, int], names: Sequence[str]) -> list[int]:
        if set(names) - known.keys():
            known.update(catalog.ensure(self._conn, {kind: names})[kind])
        return [known[name] for name in names]

    def save(self) -> None:
        """Write everything."""
        tables = (
            t.resource_providers,
            t.inventories,
            t.resource_provider_traits,
            t.resource_provider_aggregates,
        )
        for table, rows in zip(tables, self._rows.values(), strict=True):
            if rows:
                self._conn.execute(sa.insert(table), rows)
        derived.recompute(self._conn)


def uuid(row_id: int) -> str:
    """The uuid of a provider of a `Cloud`."""
    return f"00000000-0000-4000-8000-{row_id:012d}"


def aggregate(number: int) -> str:
    """The uuid of an aggregate."""
    return f"a0000000-0000-4000-8000-{number:012d}"
