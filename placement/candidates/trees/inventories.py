"""Read the names and inventories of a few providers for explanations."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy.engine import Connection

from placement.db.statements import providers as statements
from placement.objects import provider_parts
from placement.objects.provider_parts import Part
from placement.runtime.messages import escaped


def read_inventories(
    conn: Connection, uuids: Sequence[str]
) -> Mapping[tuple[str | None, str | None], Mapping[str, Any]]:
    """Return (provider, class) -> the fields of the inventory, and its usage as `used`."""
    rows = statements.with_all_fields(uuids).rows(conn)
    uuid_by_id = {row_id: uuid for uuid, *_, row_id, _revision in rows}
    parts = provider_parts.read(conn, uuid_by_id, (Part.INVENTORIES, Part.USAGES))
    usages = parts[Part.USAGES]
    inventories: dict[tuple[str | None, str | None], Mapping[str, Any]] = {}
    for row_id, by_class in parts[Part.INVENTORIES].items():
        for name, inventory in by_class.items():
            inventories[uuid_by_id[row_id], name] = {**inventory, "used": usages[row_id][name]}
    return inventories


def read_names(conn: Connection, uuids: Sequence[str]) -> Mapping[str, str]:
    """Return UUID -> name of existing providers. Unprintable characters are escaped."""
    rows = statements.with_all_fields(uuids).rows(conn)
    return {uuid: escaped(name) for uuid, name, *_others in rows}
