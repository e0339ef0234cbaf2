"""The least that an answer can cost: one hand-written query, and its rows made into JSON.

No HTTP, no search, nothing of the service; the same driver, the same bytes of JSON.
"""

from __future__ import annotations

import statistics
import time

import orjson
import sqlalchemy as sa

LEAST = 10  # turns

QUERY = """
SELECT p.uuid, c.name, i.capacity, i.used
FROM resource_providers p
JOIN inventories i ON i.resource_provider_id = p.id
JOIN resource_classes c ON c.id = i.resource_class_id
WHERE p.parent_provider_id IS NULL AND p.id <= {limit}
"""


def floor(url: str, traits: tuple[str, ...], limit: int, seconds: float) -> float:
    """Milliseconds for the candidates of so many flat hosts (median)."""
    fragment = orjson.Fragment(orjson.dumps(list(traits)))
    engine = sa.create_engine(url, poolclass=sa.StaticPool)
    raw = engine.raw_connection()
    times: list[float] = []
    until = time.monotonic() + seconds
    try:
        while len(times) < LEAST or time.monotonic() < until:
            started = time.perf_counter()
            cursor = raw.cursor()
            cursor.execute(QUERY.format(limit=limit))
            _render(list(cursor.fetchall()), fragment)
            times.append(time.perf_counter() - started)
            cursor.close()
    finally:
        raw.close()
        engine.dispose()
    return 1000 * statistics.median(times)


def _render(rows: list[tuple[str, str, int, int]], traits: orjson.Fragment) -> bytes:
    asked = orjson.Fragment(b'{"VCPU":2,"MEMORY_MB":4096,"DISK_GB":20}')
    summaries: dict[str, dict[str, object]] = {}
    for uuid, name, capacity, used in rows:
        summary = summaries.get(uuid)
        if summary is None:
            summary = summaries[uuid] = {
                "resources": {},
                "traits": traits,
                "parent_provider_uuid": None,
                "root_provider_uuid": uuid,
            }
        summary["resources"][name] = {"capacity": capacity, "used": used}  # type: ignore[index]
    return orjson.dumps(
        {
            "allocation_requests": [
                {"allocations": {uuid: {"resources": asked}}, "mappings": {"": [uuid]}}
                for uuid in summaries
            ],
            "provider_summaries": summaries,
        }
    )
