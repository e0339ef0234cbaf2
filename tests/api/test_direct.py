"""The service in this process with `PlacementDirect`."""

from __future__ import annotations

import os
import socket
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from keystoneauth1.adapter import Adapter
from oslo_config import cfg

from placement import config
from placement.api.history import LATEST
from placement.config import Settings
from placement.direct import PlacementDirect
from placement.errors import ConfigurationError
from tests.kit.builders import database_url, settings
from tests.kit.service import claim, inventories

UUID = "11111111-2222-3333-4444-000000000001"
CHILD = "11111111-2222-3333-4444-000000000002"
MAX = str(LATEST)


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Adapter]:
    with PlacementDirect(made_settings(tmp_path), latest_microversion=True) as adapter:
        yield adapter


def made_settings(directory: Path) -> Settings:
    return settings(database_url(directory))


def create(client: Adapter, name: str, uuid: str) -> None:
    answer = client.post("/resource_providers", json={"name": name, "uuid": uuid})
    assert answer.status_code == 200, answer.text


def test_every_method_reaches_the_service(client: Adapter) -> None:
    create(client, "host1", UUID)
    path = f"/resource_providers/{UUID}"
    assert client.get(path).json()["name"] == "host1"
    assert client.put(path, json={"name": "host2"}).json()["name"] == "host2"
    assert client.patch(path, json={}).status_code == 405
    assert client.delete(path).status_code == 204
    assert client.get("/resource_providers").json() == {"resource_providers": []}


def test_a_database_is_migrated_and_served_by_its_url_alone(tmp_path: Path) -> None:
    for providers in (0, 1):
        with PlacementDirect.on_database(f"sqlite:///{tmp_path}/new.db") as client:
            assert len(client.get("/resource_providers").json()["resource_providers"]) == providers
            if not providers:
                create(client, "host1", UUID)


def test_a_database_in_memory_is_one_for_all_threads_and_goes_at_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    direct = PlacementDirect.on_database("sqlite://")
    for _ in range(2):
        with direct as client, ThreadPoolExecutor(8) as pool:
            uuids = [f"11111111-2222-3333-4444-{number:012}" for number in range(32)]
            list(pool.map(lambda uuid: create(client, f"host {uuid}", uuid), uuids))
            assert len(client.get("/resource_providers").json()["resource_providers"]) == 32
        assert list(tmp_path.iterdir()) == []


def test_neither_the_command_line_nor_files_of_the_program_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """oslo.config also searches for files with the name of the program in the home directory."""
    (tmp_path / "program.conf").write_text("[api]\nauth_strategy = nonsense\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("OS_API__AUTH_STRATEGY", "nonsense")
    monkeypatch.setattr(sys, "argv", ["program", "--config-file", "/no/such/file", "--what"])
    with PlacementDirect.on_database(f"sqlite:///{tmp_path}/new.db") as client:
        assert client.get("/resource_providers").status_code == 200


def test_options_that_were_not_parsed_have_their_defaults(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "placement.conf").write_text("[api]\nauth_strategy = nonsense\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv(config.CONFIG_DIR_VARIABLE, str(tmp_path))
    monkeypatch.setattr(sys, "argv", ["program", "--config-file", "/no/such/file", "--what"])
    conf = config.options()
    conf.set_override("connection", database_url(tmp_path), "placement_database")
    with PlacementDirect(conf) as client:
        assert client.get("/resource_providers").status_code == 200


def test_requests_are_of_the_latest_microversion_or_of_the_one_they_state(client: Adapter) -> None:
    def spoken(**options: object) -> str:
        return client.get("/resource_providers", **options).headers["OpenStack-API-Version"]

    assert spoken() == f"placement {MAX}"
    assert spoken(microversion="1.10") == "placement 1.10"
    assert spoken(headers={"OpenStack-API-Version": "placement 1.11"}, microversion=None) == (
        "placement 1.11"
    )
    assert client.get("/traits", microversion="1.5").status_code == 404


def test_the_caller_may_reshape_and_may_be_another_user(client: Adapter) -> None:
    create(client, "host1", UUID)
    body = {"inventories": {UUID: inventories(0, VCPU=8)}, "allocations": {}}
    someone = {"X-Auth-Token": "someone", "X-Roles": "reader"}
    assert client.post("/reshaper", json=body, headers=someone).status_code == 403
    assert client.post("/reshaper", json=body).status_code == 204
    nobody: dict[str, object] = {"X-Auth-Token": None}
    assert client.get("/resource_providers", headers=nobody).status_code == 401


def test_no_socket_is_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = made_settings(tmp_path)
    if not made.database.connection.startswith("sqlite"):
        pytest.skip("the database is on the network")

    def refuse(*_args: object, **_options: object) -> None:
        raise AssertionError("a socket was opened")

    monkeypatch.setattr(socket.socket, "__init__", refuse)
    with PlacementDirect(made, latest_microversion=True) as client:
        create(client, "host1", UUID)


def test_many_threads_may_use_one_client(client: Adapter) -> None:
    create(client, "host1", UUID)
    stocked = client.put(f"/resource_providers/{UUID}/inventories", json=inventories(0, VCPU=40))
    assert stocked.status_code == 200

    def boot(number: int) -> int:
        consumer = f"cccccccc-0000-0000-0000-{number:012}"
        answer = client.put(f"/allocations/{consumer}", json=claim({UUID: {"VCPU": 1}}))
        return answer.status_code

    with ThreadPoolExecutor(8) as threads:
        statuses = list(threads.map(boot, range(48)))
    assert (statuses.count(204), statuses.count(409)) == (40, 8)
    usages = client.get(f"/resource_providers/{UUID}/usages").json()["usages"]
    assert usages == {"VCPU": 40}


def test_a_forked_process_goes_on_with_connections_of_its_own(client: Adapter) -> None:
    create(client, "host1", UUID)

    def count(answers: int) -> int:
        path = f"/resource_providers/{UUID}"
        return sum(client.get(path).status_code == 200 for _ in range(answers))

    def write(number: int) -> bool:
        return client.post("/resource_providers", json={"name": f"new{number}"}).status_code == 200

    assert count(1) == 1  # the connections that the children inherit
    children = []
    for number in range(3):
        child = os.fork()
        if not child:
            good = False
            try:
                good = count(20) == 20 and write(number)
            finally:
                os._exit(0 if good else 1)
        children.append(child)
    assert count(50) == 50
    assert [os.waitpid(child, 0)[1] for child in children] == [0, 0, 0]
    assert count(1) == 1
    assert len(client.get("/resource_providers").json()["resource_providers"]) == 4


def test_a_process_may_have_several_of_different_databases(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    first = PlacementDirect(made_settings(tmp_path / "a"), latest_microversion=True)
    second = PlacementDirect(made_settings(tmp_path / "b"), latest_microversion=True)
    with first as one, second as other:
        create(one, "host1", UUID)
        create(other, "host1", CHILD)
        assert one.get(f"/resource_providers/{CHILD}").status_code == 404
        assert other.get(f"/resource_providers/{CHILD}").status_code == 200


def test_options_may_belong_to_a_caller_that_does_not_know_them(tmp_path: Path) -> None:
    url = database_url(tmp_path)
    file = tmp_path / "placement.conf"
    file.write_text(f"[placement_database]\nconnection = {url}\n")
    conf = cfg.ConfigOpts()
    conf([], default_config_files=[str(file)])
    with PlacementDirect(conf) as client:
        assert client.get("/resource_providers").status_code == 200
    assert conf.api.auth_strategy == "keystone", "the caller's options are as they were"


def test_conflicting_options_of_the_same_name_are_refused() -> None:
    conf = cfg.ConfigOpts()
    conf.register_opts([cfg.IntOpt("auth_strategy")], group="api")
    with pytest.raises(ConfigurationError, match=r"registered differently.*auth_strategy"):
        PlacementDirect(conf)


def test_a_database_that_is_not_migrated_is_refused_and_can_be_migrated(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/empty.db"
    Path(tmp_path / "empty.db").touch()
    with pytest.raises(ConfigurationError, match="db sync"), PlacementDirect(settings(url)):
        pass
    syncing = settings(url, placement_database={"sync_on_startup": True})
    with PlacementDirect(syncing) as client:
        assert client.get("/resource_providers").status_code == 200
