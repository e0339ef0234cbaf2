"""Changes by SQL under running services, as guides for operators describe them.

For each change: `db check` finds it, or it leaves no trace; `db check --repair` heals it; services
that have cached the old state respond like a new one; and the next check finds nothing.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError

from placement import cli
from placement.operate import checks
from tests.kit.builders import database_url
from tests.kit.rows import damage, wrong_usages
from tests.kit.service import Service
from tests.migrations.conftest import ENVIRONMENT

OWNER = {"project_id": "project", "user_id": "user", "consumer_type": "INSTANCE"}
V2 = "2.0"
_numbers = itertools.count(1)


class Host:
    """A tree of two providers with a consumer, whose names are unique."""

    def __init__(self, service: Service) -> None:
        number = next(_numbers)
        self.service = service
        self.root = f"{number:08d}-0000-4000-8000-000000000000"
        self.child = f"{number:08d}-0000-4000-8000-000000000001"
        self.other = f"{number:08d}-0000-4000-8000-000000000002"
        self.consumer = f"{number:08d}-0000-4000-8000-00000000000c"
        self.aggregate = f"{number:08d}-0000-4000-8000-00000000000a"
        self.trait = f"CUSTOM_T{number}"
        parts = {"aggregates": [self.aggregate]}
        parts = {"traits": [self.trait], "aggregates": [self.aggregate]}
        host = {"uuid": self.root, "name": f"host {number}", "parent_provider_uuid": None}
        card = {"uuid": self.child, "name": f"card {number}", "parent_provider_uuid": self.root}
        self.put_tree(
            {**host, "inventories": {"VCPU": {"total": 8}}, **parts},
            {**card, "inventories": {"VGPU": {"total": 4}}, **parts},
        )
        self.put_tree({"uuid": self.other, "name": f"other {number}", "parent_provider_uuid": None})
        claims = {self.root: {"resources": {"VCPU": 5}}, self.child: {"resources": {"VGPU": 2}}}
        body = {"allocations": claims, "consumer_generation": None, **OWNER}
        service.expect(204, "PUT", f"/allocations/{self.consumer}", body)

    def put_tree(self, *providers: Mapping[str, object]) -> None:
        """Create a tree."""
        body = {"create_names": True, "providers": providers}
        root = providers[0]["uuid"]
        answer = self.service.send("PUT", f"/provider_trees/{root}", body, V2)
        assert answer.status_code < 300, answer.text

    def names(self) -> Mapping[str, object]:
        """Return what the SQL of a change may name."""
        with self.service.database.read() as conn:
            rows = conn.execute(sa.text("SELECT uuid, id FROM resource_providers"))
            ids = {row.uuid: row.id for row in rows}
        return {
            **vars(self),
            "root_id": ids[self.root],
            "child_id": ids[self.child],
            "other_id": ids[self.other],
        }

    def look(self, service: Service) -> list[Any]:
        """Return the responses of a service about the host."""
        answers = [(path, service.send("GET", path, version=V2)) for path in self._paths()]
        return [
            (path, answer.json if answer.status_code == 200 else answer.status_code)
            for path, answer in answers
        ]

    def _paths(self) -> Iterator[str]:
        for uuid in (self.root, self.child):
            for part in ("", "/inventories", "/usages", "/traits", "/aggregates", "/allocations"):
                yield f"/resource_providers/{uuid}{part}"
            yield f"/resource_providers?in_tree={uuid}&include=traits,aggregates,inventories,usages"
        yield f"/resource_providers?member_of={self.aggregate}"
        yield f"/allocations/{self.consumer}"
        yield f"/allocation_candidates?resources=VCPU:1&in_tree={self.root}"
        yield f"/allocation_candidates?resources=VCPU:3,VGPU:2&in_tree={self.root}"
        yield f"/allocation_candidates?resources=VCPU:1&required={self.trait}"
        yield f"/allocation_candidates?resources=VGPU:1&member_of={self.aggregate}"


@dataclass(frozen=True)
class Change:
    """A change by SQL."""

    # The statements.
    sql: Sequence[str]
    # The names of the checks that find it. Empty if it leaves no trace.
    found: Sequence[str] = ()
    # The names of the checks that still find faults after the repair.
    left: Sequence[str] = ()


_OF_CONSUMER = "consumer_id = '{consumer}'"
_ON_ROOT = "resource_provider_id = {root_id}"
CHANGES = {
    "allocations are deleted": Change(
        [f"DELETE FROM allocations WHERE {_OF_CONSUMER}"], ["idle-consumers", "used"]
    ),
    "an allocation is deleted": Change(
        [f"DELETE FROM allocations WHERE {_OF_CONSUMER} AND {_ON_ROOT}"], ["used"]
    ),
    "an allocation is lowered": Change(
        [f"UPDATE allocations SET used = 1 WHERE {_OF_CONSUMER}"], ["used"]
    ),
    "a consumer is deleted": Change(
        ["DELETE FROM consumers WHERE uuid = '{consumer}'"], ["no-consumer"]
    ),
    "a consumer and its allocations are deleted": Change(
        [
            "DELETE FROM consumers WHERE uuid = '{consumer}'",
            f"DELETE FROM allocations WHERE {_OF_CONSUMER}",
        ],
        ["used"],
    ),
    "a ratio is raised": Change(
        [f"UPDATE inventories SET allocation_ratio = 16 WHERE {_ON_ROOT}"], ["capacity"]
    ),
    "a total is raised": Change(
        [f"UPDATE inventories SET total = 80 WHERE {_ON_ROOT}"], ["capacity"]
    ),
    "an amount is reserved": Change(
        [f"UPDATE inventories SET reserved = 1 WHERE {_ON_ROOT}"], ["capacity"]
    ),
    "a unit is lowered": Change([f"UPDATE inventories SET max_unit = 2 WHERE {_ON_ROOT}"]),
    "inventories are deleted": Change(
        [f"DELETE FROM inventories WHERE {_ON_ROOT}"], ["no-inventory"], left=["no-inventory"]
    ),
    "a trait is taken off": Change([f"DELETE FROM resource_provider_traits WHERE {_ON_ROOT}"]),
    "a trait is deleted": Change(["DELETE FROM traits WHERE name = '{trait}'"], ["lost-traits"]),
    "a trait is renamed": Change(["UPDATE traits SET name = '{trait}_NEW' WHERE name = '{trait}'"]),
    "a provider leaves an aggregate": Change(
        [f"DELETE FROM resource_provider_aggregates WHERE {_ON_ROOT}"]
    ),
    "an aggregate is deleted": Change(
        ["DELETE FROM placement_aggregates WHERE uuid = '{aggregate}'"], ["lost-aggregates"]
    ),
    "a provider is renamed": Change(
        ["UPDATE resource_providers SET name = '{root}' WHERE uuid = '{root}'"]
    ),
    "root ids are removed": Change(
        ["UPDATE resource_providers SET root_provider_id = NULL WHERE uuid = '{child}'"],
        ["roots"],
    ),
    "a provider is moved without its root id": Change(
        ["UPDATE resource_providers SET parent_provider_id = {other_id} WHERE uuid = '{child}'"],
        ["roots"],
    ),
    "a provider with children is deleted": Change(
        ["DELETE FROM resource_providers WHERE uuid = '{root}'"],
        [
            "parents",
            "roots",
            "lost-inventories",
            "lost-allocations",
            "lost-traits",
            "lost-aggregates",
        ],
    ),
    "a provider and its inventories are deleted": Change(
        [
            f"DELETE FROM inventories WHERE {_ON_ROOT}",
            "DELETE FROM resource_providers WHERE uuid = '{root}'",
        ],
        ["parents", "roots", "lost-allocations", "lost-traits", "lost-aggregates"],
    ),
}


@pytest.fixture(scope="module")
def services(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Service, Service]]:
    """Two services on one database. One of them changes it, and the other one only reads it."""
    url = database_url(tmp_path_factory.mktemp("services"))
    with Service(Path(), url=url) as writer, Service(Path(), url=url) as reader:
        yield writer, reader


def findings(service: Service) -> list[str]:
    with service.database.read() as conn:
        return [check.name for check, _finding in checks.find_faults(conn)]


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_by_sql_is_healed_in_all_running_services(
    services: tuple[Service, Service], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    change = CHANGES[name]
    writer, reader = services
    host = Host(writer)
    host.look(reader)
    damage(writer.database, [sql.format(**host.names()) for sql in change.sql])
    assert findings(writer) == list(change.found)
    if not change.found:
        assert host.look(reader) != look_anew(host), "no service has an old copy"
    monkeypatch.setenv(ENVIRONMENT, writer.settings.database.connection)
    assert cli.main(["db", "check", "--repair"]) == int(bool(change.left))
    assert findings(writer) == list(change.left)
    assert wrong_usages(writer.database) == []
    assert host.look(reader) == look_anew(host)
    if change.left:
        writer.expect(204, "DELETE", f"/allocations/{host.consumer}")
    assert findings(writer) == []


def look_anew(host: Host) -> list[Any]:
    """Return the responses of a service that has just started."""
    with Service(Path(), url=host.service.settings.database.connection) as new:
        return host.look(new)


@pytest.mark.parametrize("version", ["1.39", V2])
@pytest.mark.parametrize("name", ["an allocation is raised", "a consumer is deleted"])
def test_a_deletion_of_allocations_heals_what_it_can(
    services: tuple[Service, Service], name: str, version: str
) -> None:
    writer, _reader = services
    host = Host(writer)
    raised = f"UPDATE allocations SET used = 9 WHERE {_OF_CONSUMER}"
    sql = CHANGES[name].sql if name in CHANGES else [raised]
    damage(writer.database, [each.format(**host.names()) for each in sql])
    assert findings(writer) != []
    writer.expect(204, "DELETE", f"/allocations/{host.consumer}", version=version)
    assert findings(writer) == []
    assert wrong_usages(writer.database) == []
    writer.expect(404, "DELETE", f"/allocations/{host.consumer}", version=version)


def _claim(host: Host) -> dict[str, Any]:
    claims = {host.root: {"resources": {"VCPU": 6}}}
    return {"allocations": claims, "consumer_generation": None, **OWNER}


def _put(host: Host) -> Any:
    return host.service.send("PUT", f"/allocations/{host.consumer}", _claim(host))


def _put_old(host: Host) -> Any:
    claims = [{"resource_provider": {"uuid": host.root}, "resources": {"VCPU": 6}}]
    body = {"allocations": claims, "project_id": "project", "user_id": "user"}
    return host.service.send("PUT", f"/allocations/{host.consumer}", body, "1.8")


def _post(host: Host) -> Any:
    return host.service.send("POST", "/allocations", {host.consumer: _claim(host)})


def _search(host: Host) -> Any:
    group = {"resources": {"VCPU": 3}, "in_tree": host.root}
    body = {"consumer_uuid": host.consumer, "request": {"groups": {"": group}}, **OWNER}
    return host.service.send("POST", "/claims", {**body, "remember": True}, V2)


def _reshape(host: Host) -> Any:
    path = f"/resource_providers/{host.root}/inventories"
    generation = host.service.send("GET", path).json["resource_provider_generation"]
    stock = {"resource_provider_generation": generation, "inventories": {"VCPU": {"total": 7}}}
    claims = {host.consumer: _claim(host)}
    return host.service.send(
        "POST", "/reshaper", {"inventories": {host.root: stock}, "allocations": claims}
    )


def _convert(host: Host) -> Any:
    hold = host.consumer[:-1] + "d"
    group = {"resources": {"VCPU": 2}, "in_tree": host.root}
    body = {"consumer_uuid": hold, "request": {"groups": {"": group}}, **OWNER}
    answer = host.service.send("POST", "/claims", {**body, "expires_in": 600}, V2)
    assert answer.status_code == 201, answer.text
    body = {"consumer_uuid": host.consumer, "from_hold": hold, **OWNER}
    return host.service.send("POST", "/claims", body, V2)


def _empty(host: Host) -> Any:
    body = {**_claim(host), "allocations": {}}
    return host.service.send("POST", "/allocations", {host.consumer: body})


# Write -> what the consumer holds of the root's VCPUs afterwards.
WRITES: Mapping[Callable[[Host], Any], int] = {
    _put: 6,
    _put_old: 6,
    _post: 6,
    _search: 3,
    _reshape: 6,
    _convert: 2,
    _empty: 0,
}


@pytest.mark.parametrize("write", WRITES)
def test_a_write_replaces_allocations_whose_consumer_was_deleted(
    services: tuple[Service, Service], write: Callable[[Host], Any]
) -> None:
    writer, _reader = services
    host = Host(writer)
    sql = ["DELETE FROM consumers WHERE uuid = '{consumer}'"]
    damage(writer.database, [each.format(**host.names()) for each in sql])
    answer = write(host)
    assert answer.status_code < 300, answer.text
    assert wrong_usages(writer.database) == []
    assert findings(writer) == []
    for uuid, class_name, used in (
        (host.root, "VCPU", WRITES[write]),
        (host.child, "VGPU", 0),
    ):
        usages = writer.send("GET", f"/resource_providers/{uuid}/usages").json["usages"]
        assert usages == {class_name: used}
    held = writer.send("GET", f"/allocations/{host.consumer}").json
    assert {uuid: each["resources"] for uuid, each in held["allocations"].items()} == (
        {host.root: {"VCPU": WRITES[write]}} if WRITES[write] else {}
    )


def test_a_deletion_finds_both_spellings_of_a_consumer_that_was_deleted(
    services: tuple[Service, Service],
) -> None:
    writer, _reader = services
    host = Host(writer)
    plain = host.consumer.replace("-", "")
    damage(
        writer.database,
        [
            f"DELETE FROM consumers WHERE uuid = '{host.consumer}'",
            f"UPDATE allocations SET consumer_id = '{plain}'"
            f" WHERE consumer_id = '{host.consumer}' AND used = 2",
        ],
    )
    writer.expect(204, "DELETE", f"/allocations/{plain}")
    assert wrong_usages(writer.database) == []
    assert findings(writer) == []
    with writer.database.read() as conn:
        rows = conn.execute(sa.text("SELECT uuid FROM consumers WHERE project_id = 0"))
        assert rows.all() == []


_JOIN = (
    "FROM allocations JOIN inventories"
    " ON inventories.resource_provider_id = allocations.resource_provider_id"
)
ALL = {"sqlite", "mysql", "postgresql"}
# SQL that does not work with the additional columns, the engines that refuse it, and the remedy.
SCRIPTS = {
    "an INSERT without columns": (
        "INSERT INTO inventories VALUES (NULL, NULL, 9999, {root_id}, 2, 1, 0, 1, 1, 1, 1.0)",
        {"sqlite", "mysql"},
        "INSERT INTO inventories (resource_provider_id, resource_class_id, total, reserved,"
        " min_unit, max_unit, step_size, allocation_ratio)"
        " VALUES ({root_id}, 2, 1, 0, 1, 1, 1, 1.0)",
    ),
    "a column of two tables": (
        f"SELECT SUM(used) {_JOIN}",
        ALL,
        f"SELECT SUM(allocations.used) {_JOIN}",
    ),
    "an alias that is a column": (
        "SELECT (total - reserved) * allocation_ratio AS capacity, COUNT(*) FROM inventories"
        " GROUP BY capacity",
        {"postgresql"},
        "SELECT (total - reserved) * allocation_ratio AS most, COUNT(*) FROM inventories"
        " GROUP BY most",
    ),
}


@pytest.mark.parametrize("name", SCRIPTS)
def test_the_documented_sql_of_reports_is_refused_and_works_otherwise(
    services: tuple[Service, Service], name: str
) -> None:
    refused, engines, remedy = SCRIPTS[name]
    writer, _reader = services
    host = Host(writer)
    engine = writer.database.writer
    works = engine.dialect.name not in engines
    with nullcontext() if works else pytest.raises(DBAPIError), engine.connect() as conn:
        conn.execute(sa.text(refused.format(**host.names())))
    with engine.connect() as conn:
        conn.execute(sa.text(remedy.format(**host.names())))
