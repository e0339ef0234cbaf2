"""A small cloud with every kind of write, each of which conflicts with the others."""

import uuid as uuids
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from placement.db import tables as t
from placement.db.engine import Database
from placement.objects import change_numbering, holds
from tests.kit.rows import UNCHECKED
from tests.kit.service import NEWEST, Service, claim, inventories

V2 = "2.0"
#   HOST  VCPU 4, of which 1 is free          SPARE  VCPU 4
#     |
#   NODE  DISK_GB 4
HOST, NODE, SPARE = (str(uuids.UUID(int=number)) for number in (1, 2, 3))
# A consumer with allocations, a hold, and a hold whose time is over.
OLD, HELD, ENDED = (str(uuids.UUID(int=number)) for number in (11, 12, 13))
# The consumers that the writers create.
NEW = tuple(str(uuids.UUID(int=number)) for number in (21, 22))
AGGREGATES = tuple(str(uuids.UUID(int=number)) for number in (31, 32))
TRAITS = ("HW_CPU_X86_AVX", "HW_CPU_X86_AVX2")
# Times differ between runs, and tokens of changes are random.
VARYING = {"request_id", "expires_at", "expires_in", "created_at", "updated_at", "revision"}

# Maximum age of numbered changes, in seconds.
MAX_AGE = 3600

# Tables that no write changes: all names exist before.
UNCHANGED = {"traits", "resource_classes"}
TABLES = [table for table in t.metadata.sorted_tables if table.name not in UNCHANGED]

# Table -> primary key -> row
Tables = Mapping[str, Mapping[tuple[Any, ...], Mapping[str, Any]]]


class Cloud:
    """Two services on one database, which a write changes and `reset` restores."""

    def __init__(self, directory: Path) -> None:
        options = {"randomize_allocation_candidates": False}
        self.service = Service(directory, placement=options)
        url = self.service.settings.database.connection
        self.other = Service(directory, url=url, placement=options)
        # Connections that check no foreign keys.
        self._unchecked = sa.create_engine(self.service.database.writer.url)
        self._create()
        # UUID -> generation at the start.
        self.generations = {
            uuid: self.service.get(f"/resource_providers/{uuid}")["generation"]
            for uuid in (HOST, NODE, SPARE)
        }
        self._start = self._tables()

    @property
    def databases(self) -> Sequence[Database]:
        return self.service.database, self.other.database

    def close(self) -> None:
        self._unchecked.dispose()
        self.service.close()
        self.other.close()

    def _create(self) -> None:
        service = self.service
        for uuid, parent, name in (
            (HOST, None, "VCPU"),
            (NODE, HOST, "DISK_GB"),
            (SPARE, None, "VCPU"),
        ):
            body: dict[str, object] = {"name": f"name-{uuid}", "uuid": uuid}
            body["parent_provider_uuid"] = parent
            service.expect(200, "POST", "/resource_providers", body)
            path = f"/resource_providers/{uuid}/inventories"
            service.expect(200, "PUT", path, inventories(0, **{name: 4}))
        # Both writers use names that exist: the services cache the ids of names.
        for uuid in AGGREGATES:
            self._aggregate(uuid)
        service.expect(204, "PUT", f"/allocations/{OLD}", claim({HOST: {"VCPU": 1}}))
        for uuid in (HELD, ENDED):
            claimed = {**demand(uuid), "expires_in": 3600}
            service.expect(201, "POST", "/claims", claimed, V2)
        with service.database.writer.begin() as conn:
            statement = "UPDATE claim_records SET expires_at = 1 WHERE consumer_uuid = :uuid"
            assert conn.execute(sa.text(statement), {"uuid": ENDED}).rowcount == 1
        service.database.write(change_numbering.begin)
        self._let_number()

    def _let_number(self) -> None:
        """Let the next numbering begin at once."""
        with self.service.database.writer.begin() as conn:
            conn.execute(sa.text("UPDATE change_feed SET numbered_at = 0"))

    def _aggregate(self, uuid: str) -> None:
        provider = self.service.get(f"/resource_providers/{SPARE}")
        body = {"aggregates": [uuid], "resource_provider_generation": provider["generation"]}
        self.service.expect(200, "PUT", f"/resource_providers/{SPARE}/aggregates", body)

    def _tables(self) -> Tables:
        found: dict[str, Mapping[tuple[Any, ...], Mapping[str, Any]]] = {}
        with self.service.database.read() as conn:
            for table in TABLES:
                key = [column.name for column in table.primary_key]
                rows = conn.execute(sa.select(table)).mappings()
                found[table.name] = {tuple(row[name] for name in key): dict(row) for row in rows}
        return found

    def reset(self) -> None:
        """Restore all rows, in one transaction."""
        now = self._tables()
        with self._unchecked.begin() as conn:
            conn.exec_driver_sql(UNCHECKED[conn.dialect.name])
            for table in TABLES:
                present, wanted = now[table.name], self._start[table.name]
                changed = [key for key in present if wanted.get(key) != present[key]]
                for key in changed:
                    matches = [
                        column == value
                        for column, value in zip(table.primary_key, key, strict=True)
                    ]
                    conn.execute(sa.delete(table).where(*matches))
                missing = [row for key, row in wanted.items() if present.get(key) != row]
                if missing:
                    conn.execute(sa.insert(table), missing)

    def unnumbered(self) -> Sequence[str]:
        """Number the changes, and return the roots whose present revision has no number."""
        self._let_number()
        number_changes(self.service)
        query = (
            "SELECT uuid FROM resource_providers WHERE parent_provider_id IS NULL"
            " AND (id, revision) NOT IN (SELECT provider_id, revision FROM tree_changes)"
        )
        with self.service.database.read() as conn:
            return list(conn.execute(sa.text(query)).scalars())

    def state(self) -> Any:
        """Return everything that clients can read, without times."""
        lists = (
            "/resource_providers?include=inventories,usages,traits,aggregates,allocations",
            "/consumers",
        )
        state: dict[str, Any] = {path: self.service.get(path, V2) for path in lists}
        records = ("consumer_uuid", "spread_group", "max_per_host", "hold_generation")
        with self.service.database.read() as conn:
            query = sa.select(*[t.claim_records.c[name] for name in records])
            state["records"] = [list(row) for row in conn.execute(query)]
        return _without_times(state)


def _without_times(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_times(each) for name, each in value.items() if name not in VARYING}
    if isinstance(value, list):
        return sorted(map(_without_times, value), key=repr)
    return value


def demand(consumer: str) -> dict[str, Any]:
    """Return the body of a claim. Only one host can serve it, so its place is no choice."""
    return {
        "request": {"groups": {"": {"resources": {"VCPU": 1}, "in_tree": HOST}}},
        "consumer_uuid": consumer,
        "project_id": "project",
        "user_id": "user",
        "consumer_type": "INSTANCE",
    }


# Executes a write of the first or second writer, and returns what its client sees.
Write = Callable[[Cloud, Service, int], Any]


def request(
    method: str,
    path: str,
    body: Callable[[Cloud, int], Any] | None = None,
    version: str = NEWEST,
) -> Write:
    """Return a write by a request. `body` returns the body of the first or second writer."""

    def send(cloud: Cloud, service: Service, number: int) -> int:
        sent = None if body is None else body(cloud, number)
        return service.send(method, path.format(new=NEW[number]), sent, version).status_code

    return send


def _from_hold(_cloud: Cloud, number: int) -> Any:
    body = demand(NEW[number])
    del body["request"]
    return {**body, "from_hold": HELD}


def _move(_cloud: Cloud, number: int) -> Any:
    """Replace the allocations of the old consumer by those of a new one."""
    return {OLD: claim({}, 1), NEW[number]: claim({HOST: {"VCPU": 1}, NODE: {"DISK_GB": 1}})}


def _inventories(cloud: Cloud, number: int) -> Any:
    return inventories(cloud.generations[HOST], VCPU=3 + number)


def _traits(cloud: Cloud, number: int) -> Any:
    return {
        "resource_provider_generation": cloud.generations[NODE],
        "traits": [TRAITS[number]],
    }


def _aggregates(cloud: Cloud, number: int) -> Any:
    return {
        "resource_provider_generation": cloud.generations[NODE],
        "aggregates": [AGGREGATES[number]],
    }


def _tree(cloud: Cloud, number: int) -> Any:
    """Change the root, and delete the child."""
    root = {
        "uuid": HOST,
        "name": f"name-{HOST}",
        "generation": cloud.generations[HOST],
        "inventories": {"VCPU": {"total": 5 + number}},
        "traits": [TRAITS[number]],
    }
    return {"providers": [root]}


def _reshape(cloud: Cloud, number: int) -> Any:
    """Move the disk of the child to its parent, with allocations of the old consumer."""
    return {
        "inventories": {
            HOST: inventories(cloud.generations[HOST], VCPU=4 + number, DISK_GB=4),
            NODE: inventories(cloud.generations[NODE]),
        },
        "allocations": {OLD: claim({HOST: {"VCPU": 1, "DISK_GB": 1}}, 1)},
    }


def _expire(_cloud: Cloud, service: Service, _number: int) -> int:
    return holds.release_expired(service.database)


def _number(_cloud: Cloud, service: Service, _writer: int) -> None:
    number_changes(service)


def number_changes(service: Service) -> None:
    """Number all changes that are not numbered yet."""
    service.database.write(lambda conn: change_numbering.number(conn, MAX_AGE))


WRITES: Mapping[str, Write] = {
    "PUT of a new consumer": request(
        "PUT",
        "/allocations/{new}",
        lambda _cloud, _number: claim({HOST: {"VCPU": 1}, NODE: {"DISK_GB": 3}}),
    ),
    "PUT of an old consumer": request(
        "PUT",
        f"/allocations/{OLD}",
        lambda _cloud, number: claim({HOST: {"VCPU": 2 - number}}, 1),
    ),
    "POST of allocations": request("POST", "/allocations", _move),
    "DELETE of allocations": request("DELETE", f"/allocations/{OLD}"),
    "claim": request("POST", "/claims", lambda _cloud, number: demand(NEW[number]), V2),
    "hold": request(
        "POST",
        "/claims",
        lambda _cloud, number: {**demand(NEW[number]), "expires_in": 600},
        V2,
    ),
    "claim of a spread group": request(
        "POST",
        "/claims",
        lambda _cloud, number: {
            **demand(NEW[number]),
            "spread_group": {"name": "web", "max_per_host": 1},
        },
        V2,
    ),
    "confirmed hold": request("POST", "/claims", _from_hold, V2),
    "extended hold": request(
        "PUT", f"/holds/{HELD}", lambda _cloud, _number: {"expires_in": 900}, V2
    ),
    "released hold": request("DELETE", f"/holds/{HELD}", version=V2),
    "expired holds": _expire,
    "inventories": request("PUT", f"/resource_providers/{HOST}/inventories", _inventories),
    "traits": request("PUT", f"/resource_providers/{NODE}/traits", _traits),
    "aggregates": request("PUT", f"/resource_providers/{NODE}/aggregates", _aggregates),
    "provider": request(
        "PUT",
        f"/resource_providers/{NODE}",
        lambda _cloud, number: {"name": f"new-{number}", "parent_provider_uuid": HOST},
    ),
    "child to another tree": request(
        "PUT",
        f"/resource_providers/{NODE}",
        lambda _cloud, _number: {"name": f"name-{NODE}", "parent_provider_uuid": SPARE},
    ),
    "new child": request(
        "POST",
        "/resource_providers",
        lambda _cloud, number: {
            "name": "child",
            "uuid": NEW[number],
            "parent_provider_uuid": HOST,
        },
    ),
    "deleted child": request("DELETE", f"/resource_providers/{NODE}"),
    "tree": request("PUT", f"/provider_trees/{HOST}", _tree, V2),
    "reshape": request("POST", "/reshaper", _reshape),
    "numbered changes": _number,
}
