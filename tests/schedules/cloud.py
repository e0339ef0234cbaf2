"""A small cloud with every kind of write, each of which conflicts with the others."""

import uuid as uuids
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from placement.db import tables as t
from placement.db.engine import Database
from placement.objects import change_numbering, holds
from tests.kit.cloud import SHARING
from tests.kit.interleaving import is_waiting
from tests.kit.service import NEWEST, ONE_BY_ONE, Service, claim, inventories
from tests.kit.tearing import Rows, become, rows

V2 = "2.0"
#   HOST  VCPU 3, of which 1 is free          SPARE  VCPU 3
#     |
#   NODE  DISK_GB 4                           POOL   IPV4_ADDRESS 1, shared with HOST
HOST, NODE, SPARE, POOL = (str(uuids.UUID(int=number)) for number in (1, 2, 3, 4))
# A consumer with allocations, and a hold whose time is over but which is not released yet.
OLD, HELD = (str(uuids.UUID(int=number)) for number in (11, 12))
# The consumers that the writers create.
NEW = tuple(str(uuids.UUID(int=number)) for number in (21, 22))
AGGREGATES = tuple(str(uuids.UUID(int=number)) for number in (31, 32))
SHARED = str(uuids.UUID(int=33))
TRAITS = ("HW_CPU_X86_AVX", "HW_CPU_X86_AVX2")
# Times differ between runs, and tokens of changes are random.
VARYING = {"request_id", "expires_at", "expires_in", "created_at", "updated_at", "revision"}

# Maximum age of numbered changes, in seconds.
MAX_AGE = 3600

# Table of trees -> the column with the provider.
PROVIDER_OF = {
    "resource_providers": "id",
    "inventories": "resource_provider_id",
    "allocations": "resource_provider_id",
    "resource_provider_traits": "resource_provider_id",
    "resource_provider_aggregates": "resource_provider_id",
}


class Cloud:
    """Services on one database, which writes change and `reset` restores."""

    def __init__(self, directory: Path, *, one_by_one: bool) -> None:
        """one_by_one: whether the writes of a transaction are separate statements."""
        made = partial(
            Service,
            directory,
            placement={"randomize_allocation_candidates": False},
            placement_database=ONE_BY_ONE if one_by_one else {},
        )
        self.service = made()
        url = self.service.settings.database.connection
        self.other = made(url=url)
        # It caches what it reads.
        self.reader = made(url=url)
        # Connections that check no foreign keys.
        self._unchecked = sa.create_engine(self.service.database.writer.url)
        self._watching = sa.create_engine(
            self.service.database.writer.url, isolation_level="AUTOCOMMIT"
        ).connect()
        self._create()
        # UUID -> generation at the start.
        self.generations = {
            uuid: self.service.get(f"/resource_providers/{uuid}")["generation"]
            for uuid in (HOST, NODE, SPARE)
        }
        self._start = rows(self.service.database)

    @property
    def databases(self) -> Sequence[Database]:
        return self.service.database, self.other.database

    def close(self) -> None:
        self._watching.close()
        self._unchecked.dispose()
        self.service.close()
        self.other.close()
        self.reader.close()

    def _create(self) -> None:
        service = self.service
        for uuid, parent, stock in (
            (HOST, None, {"VCPU": 3}),
            (NODE, HOST, {"DISK_GB": 4}),
            (SPARE, None, {"VCPU": 3}),
            (POOL, None, {"IPV4_ADDRESS": 1}),
        ):
            body: dict[str, object] = {"name": f"name-{uuid}", "uuid": uuid}
            body["parent_provider_uuid"] = parent
            service.expect(200, "POST", "/resource_providers", body)
            path = f"/resource_providers/{uuid}/inventories"
            service.expect(200, "PUT", path, inventories(0, **stock))
        # Both writers use names that exist: the services cache the ids of names.
        for uuid in AGGREGATES:
            self._aggregate(SPARE, uuid)
        self._aggregate(HOST, SHARED)
        self._aggregate(POOL, SHARED)
        traits = {"resource_provider_generation": 2, "traits": [SHARING]}
        service.expect(200, "PUT", f"/resource_providers/{POOL}/traits", traits)
        service.expect(204, "PUT", f"/allocations/{OLD}", claim({HOST: {"VCPU": 1}}))
        service.expect(201, "POST", "/claims", {**demand(HELD), "expires_in": 3600}, V2)
        with service.database.writer.begin() as conn:
            statement = "UPDATE claim_records SET expires_at = 1 WHERE consumer_uuid = :uuid"
            assert conn.execute(sa.text(statement), {"uuid": HELD}).rowcount == 1
        service.database.write(change_numbering.begin)
        self._let_number()
        # A change that has no number yet.
        self._aggregate(SPARE, AGGREGATES[0])

    def _let_number(self) -> None:
        """Let the next numbering begin at once."""
        with self.service.database.writer.begin() as conn:
            conn.execute(sa.text("UPDATE change_feed SET numbered_at = 0"))

    def _aggregate(self, provider: str, uuid: str) -> None:
        path = f"/resource_providers/{provider}"
        generation = self.service.get(path)["generation"]
        body = {"aggregates": [uuid], "resource_provider_generation": generation}
        self.service.expect(200, "PUT", f"{path}/aggregates", body)

    def waits(self) -> bool:
        """Return whether a transaction waits for a lock."""
        return is_waiting(self._watching)

    def reset(self) -> None:
        """Restore all rows, in one transaction."""
        become(self._unchecked, rows(self.service.database), self._start)

    def unrenewed(self) -> Sequence[str]:
        """Return the roots of trees that have changed, but still have the same revision."""
        trees, start = _by_root(rows(self.service.database)), _by_root(self._start)
        return [
            root
            for root in trees.keys() & start.keys()
            if trees[root] != start[root] and trees[root][0] == start[root][0]
        ]

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
        """Return everything that clients of the reader can read, without times."""
        lists = (
            "/resource_providers?include=inventories,usages,traits,aggregates,allocations",
            "/consumers",
            # The search caches trees.
            "/allocation_candidates?resources=VCPU:1",
            "/allocation_candidates?resources=DISK_GB:1",
        )
        state: dict[str, Any] = {path: self.reader.get(path, V2) for path in lists}
        records = ("consumer_uuid", "spread_group", "max_per_host", "hold_generation")
        with self.service.database.read() as conn:
            query = sa.select(*[t.claim_records.c[name] for name in records])
            state["records"] = [list(row) for row in conn.execute(query)]
        return _without_times(state)


def _by_root(all_rows: Rows) -> Mapping[str, tuple[int, Any]]:
    """Return the uuid of each root, with its revision and the rows of its tree."""
    tables: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for (table, _key), row in all_rows.items():
        tables[table].append(row)
    providers = {row["id"]: row for row in tables["resource_providers"]}
    trees: dict[str, list[Any]] = defaultdict(list)
    for name, column in PROVIDER_OF.items():
        for row in tables[name]:
            root = providers[providers[row[column]]["root_provider_id"]]
            trees[root["uuid"]].append(sorted(row.items(), key=repr))
    revisions = {row["uuid"]: row["revision"] for row in providers.values()}
    return {root: (revisions[root], sorted(trees[root], key=repr)) for root in trees}


def _without_times(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_times(each) for name, each in value.items() if name not in VARYING}
    if isinstance(value, list):
        return sorted(map(_without_times, value), key=repr)
    return value


def demand(consumer: str, resource_class: str = "VCPU") -> dict[str, Any]:
    """Return the body of a claim. Only one host can serve it, so its place is no choice."""
    return {
        "request": {"groups": {"": {"resources": {resource_class: 1}, "in_tree": HOST}}},
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


def _shared(_cloud: Cloud, number: int) -> Any:
    """Claim a disk and the only address."""
    body = demand(NEW[number], "DISK_GB")
    body["request"]["groups"]["_POOL"] = {"resources": {"IPV4_ADDRESS": 1}}
    return body


def _from_hold(_cloud: Cloud, number: int) -> Any:
    body = demand(NEW[number])
    del body["request"]
    return {**body, "from_hold": HELD}


def _move(_cloud: Cloud, number: int) -> Any:
    """Replace the allocations of the old consumer by those of a new one."""
    return {OLD: claim({}, 1), NEW[number]: claim({HOST: {"VCPU": 1}, NODE: {"DISK_GB": 1}})}


def _inventories(cloud: Cloud, number: int) -> Any:
    return inventories(cloud.generations[HOST], VCPU=2 + number)


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


# Name -> the write of a client or of the service.
WRITES: Mapping[str, Write] = {
    "put_new": request(
        "PUT",
        "/allocations/{new}",
        lambda _cloud, _number: claim({HOST: {"VCPU": 1}, NODE: {"DISK_GB": 3}}),
    ),
    "put_old": request(
        "PUT",
        f"/allocations/{OLD}",
        lambda _cloud, number: claim({(HOST, SPARE)[number]: {"VCPU": 2}}, 1),
    ),
    "post": request("POST", "/allocations", _move),
    "delete": request("DELETE", f"/allocations/{OLD}"),
    "claim": request("POST", "/claims", lambda _cloud, number: demand(NEW[number]), V2),
    "hold": request(
        "POST",
        "/claims",
        lambda _cloud, number: {**demand(NEW[number]), "expires_in": 600},
        V2,
    ),
    "spread_group": request(
        "POST",
        "/claims",
        lambda _cloud, number: {
            **demand(NEW[number], "DISK_GB"),
            "spread_group": {"name": "web", "max_per_host": 1},
        },
        V2,
    ),
    "claim_shared": request("POST", "/claims", _shared, V2),
    "confirm": request("POST", "/claims", _from_hold, V2),
    "extend": request("PUT", f"/holds/{HELD}", lambda _cloud, _number: {"expires_in": 900}, V2),
    "release": request("DELETE", f"/holds/{HELD}", version=V2),
    "expire": _expire,
    "inventories": request("PUT", f"/resource_providers/{HOST}/inventories", _inventories),
    "traits": request("PUT", f"/resource_providers/{NODE}/traits", _traits),
    "aggregates": request("PUT", f"/resource_providers/{NODE}/aggregates", _aggregates),
    "renamed_child": request(
        "PUT",
        f"/resource_providers/{NODE}",
        lambda _cloud, number: {"name": f"new-{number}", "parent_provider_uuid": HOST},
    ),
    "moved_child": request(
        "PUT",
        f"/resource_providers/{NODE}",
        lambda _cloud, _number: {"name": f"name-{NODE}", "parent_provider_uuid": SPARE},
    ),
    "moved_pool": request(
        "PUT",
        f"/resource_providers/{POOL}",
        lambda _cloud, _number: {"name": f"name-{POOL}", "parent_provider_uuid": SPARE},
    ),
    "new_child": request(
        "POST",
        "/resource_providers",
        lambda _cloud, number: {
            "name": "child",
            "uuid": NEW[number],
            "parent_provider_uuid": HOST,
        },
    ),
    "deleted_child": request("DELETE", f"/resource_providers/{NODE}"),
    "tree": request("PUT", f"/provider_trees/{HOST}", _tree, V2),
    "reshape": request("POST", "/reshaper", _reshape),
    "number": _number,
}
