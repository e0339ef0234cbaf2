"""Dump the content of a server as a cloud file, and preview the changes of loading a file."""

from __future__ import annotations

import io
import os
import re
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from falcon_placement_client.command_client import RestClient
from falcon_placement_client.loader import dump_cloud, load_cloud, load_file, preview
from falcon_placement_client.rest import MAX_V1
from placement.cli import main
from tests.kit.engines import FAMILY, share
from tests.kit.listener import listening
from tests.kit.printed import complaints
from tests.kit.service import Service, claim, inventories

DEMO = Path(__file__).parents[2] / "etc" / "demo-cloud.yaml"
CLASSES = ("VCPU", "DISK_GB", "CUSTOM_GOLD")
TRAITS = ("HW_CPU_X86_AVX2", "MISC_SHARES_VIA_AGGREGATE", "CUSTOM_BIG")
RACK = "5ac00000-0000-4000-8000-00000000000A"

# The character set of the tests' MariaDB ends at U+FFFF.
LAST = 0xFFFF if FAMILY == "mariadb" else None
NAMES = st.text(st.characters(exclude_categories=["Cs", "Cc"], max_codepoint=LAST), max_size=5)

Server = tuple[Service, str]


@contextmanager
def serving(directory: Path) -> Iterator[Server]:
    directory.mkdir()
    with Service(directory) as service, listening(service.application) as url:
        yield service, url


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with serving(tmp_path / "one") as one:
        yield one


@pytest.fixture
def empty(tmp_path: Path) -> Iterator[Server]:
    with serving(tmp_path / "other") as other:
        yield other


def dump(url: str, path: Path, **options: Any) -> str:
    out = io.StringIO()
    assert dump_cloud(url, "admin", path=str(path), out=out, **options) == 0, out.getvalue()
    return path.read_text()


def load(path: Path, url: str) -> str:
    out = io.StringIO()
    assert load_cloud(str(path), url, "admin", out=out) == 0, out.getvalue()
    return out.getvalue().splitlines()[-1]


def state(service: Service) -> dict[str, Any]:
    """The complete content of a server, without generations."""
    answers: dict[str, Any] = {
        "traits": sorted(service.get("/traits")["traits"]),
        "classes": sorted(
            each["name"] for each in service.get("/resource_classes")["resource_classes"]
        ),
    }
    for provider in service.get("/resource_providers")["resource_providers"]:
        path = f"/resource_providers/{provider['uuid']}"
        allocations = service.get(f"{path}/allocations")["allocations"]
        answers[path] = (
            [provider[key] for key in ("name", "parent_provider_uuid", "root_provider_uuid")],
            service.get(f"{path}/inventories")["inventories"],
            service.get(f"{path}/usages")["usages"],
            sorted(service.get(f"{path}/traits")["traits"]),
            sorted(each.lower() for each in service.get(f"{path}/aggregates")["aggregates"]),
        )
        for consumer in allocations:
            answer = service.get(f"/allocations/{consumer}")
            recorded = service.get(f"/consumers/{consumer}?include=request", "2.0")
            answers[consumer] = (
                [recorded.get(key) for key in ("spread_group", "request")],
                {each: on["resources"] for each, on in answer["allocations"].items()},
                [answer[key] for key in ("project_id", "user_id", "consumer_type")],
            )
    return answers


# -- any cloud goes round ---------------------------------------------------------------------


@st.composite
def any_inventories(draw: st.DrawFn) -> dict[str, dict[str, Any]]:
    """Inventories, including inventories whose usage exceeds the capacity."""
    record = st.fixed_dictionaries(
        {"total": st.integers(1, 50)},
        optional={
            "min_unit": st.integers(1, 4),
            "max_unit": st.integers(1, 4),
            "step_size": st.integers(1, 3),
            "allocation_ratio": st.sampled_from([0.0, 0.5, 1.0, 16.0]),
        },
    )
    return draw(st.dictionaries(st.sampled_from(CLASSES), record))


def build(data: st.DataObject, service: Service) -> None:
    """Create a cloud with single requests, like services over a period of time."""
    uuids: list[str] = []
    body: dict[str, object]
    for number in range(data.draw(st.integers(0, 4), "providers")):
        new = str(uuid.UUID(int=data.draw(st.integers(1, 2**128 - 1))))
        if new in uuids:
            continue
        parent = data.draw(st.sampled_from([None, *uuids]), "parent")
        name = data.draw(NAMES)
        body = {"name": f"{name}{number}", "uuid": new, "parent_provider_uuid": parent}
        service.expect(200, "POST", "/resource_providers", body)
        uuids.append(new)
    for name in data.draw(st.sets(st.sampled_from(["CUSTOM_GOLD", "CUSTOM_TIN"])), "classes"):
        service.send("PUT", f"/resource_classes/{name}")
    service.send("PUT", "/resource_classes/CUSTOM_GOLD")
    service.send("PUT", "/traits/CUSTOM_BIG")
    for number, each in enumerate(uuids):
        traits = data.draw(st.lists(st.sampled_from(TRAITS), unique=True), "traits")
        put(service, each, "traits", traits)
        aggregates = st.lists(st.sampled_from([RACK, str(uuid.UUID(int=5))]), unique=True)
        put(service, each, "aggregates", data.draw(aggregates, "aggregates"))
        inventories = data.draw(any_inventories(), "inventories")
        put(service, each, "inventories", {name: {"total": 100} for name in inventories})
        used: bool = data.draw(st.booleans(), "used")
        if inventories and used:
            amounts = {name: data.draw(st.integers(1, 30)) for name in inventories}
            kind = data.draw(st.sampled_from(["INSTANCE", "MIGRATION", None]), "type")
            body = claim({each: amounts}, project=f"p{number % 2}", kind=kind or "")
            if kind is None:
                del body["consumer_type"]
            version = "1.37" if kind is None else "1.39"
            consumer = str(uuid.UUID(int=number + 1))
            service.expect(204, "PUT", f"/allocations/{consumer}", body, version)
            if data.draw(st.booleans(), "recorded"):
                record(service, consumer, amounts)
        put(service, each, "inventories", inventories)


def record(service: Service, consumer: str, amounts: dict[str, int]) -> None:
    """Add a consumer to a spread group, and store a request for it."""
    path = f"/consumers/{consumer}"
    group = {"name": "web", "max_per_host": 1}
    service.expect(204, "PUT", f"{path}/spread_group", group, "2.0")
    request = {"groups": {"": {"resources": amounts, "required": ["CUSTOM_BIG"]}}}
    service.expect(204, "PUT", f"{path}/request", request, "2.0")


def without_lists(patch: pytest.MonkeyPatch) -> None:
    """Treat the server as one that supports only 1.x."""
    patch.setattr(RestClient, "newest", MAX_V1)


def put(service: Service, provider: str, part: str, value: object) -> None:
    path = f"/resource_providers/{provider}/{part}"
    generation = service.get(path)["resource_provider_generation"]
    body = {"resource_provider_generation": generation, part: value}
    service.expect(200, "PUT", path, body)


@settings(max_examples=share(25), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_cloud_that_is_dumped_can_be_loaded(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    directory = tmp_path_factory.mktemp("clouds")
    with serving(directory / "one") as (one, url), serving(directory / "other") as (other, there):
        build(data, one)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("falcon_placement_client.loader.server.PAGE", 2)
            text = dump(url, directory / "cloud.yaml")
            without_lists(patch)
            old = dump(url, directory / "old.yaml")
            recorded = re.compile(r"^  (spread_group|request): .*\n", re.MULTILINE)
            assert old == recorded.sub("", text), "1.x has everything but these"
        before = one.dump()
        load(directory / "cloud.yaml", there)
        assert state(other) == state(one)
        assert dump(there, directory / "again.yaml") == text
        assert one.dump() == before
        # What is loaded again changes nothing, and says so.
        written = other.dump()
        summary = load(directory / "cloud.yaml", there)
        assert "0 created, 0 changed" in summary
        assert other.dump() == written


# -- what is read -----------------------------------------------------------------------------


def test_the_demonstration_cloud_goes_round(server: Server, empty: Server, tmp_path: Path) -> None:
    (one, url), (other, there) = server, empty
    load(DEMO, url)
    text = dump(url, tmp_path / "cloud.yaml")
    assert {each.name for each in load_file(tmp_path / "cloud.yaml").providers} == {
        each.name for each in load_file(DEMO).providers
    }
    assert "uuid:" not in text.partition("\nconsumers:")[0]  # they are made from the names
    assert len(load_file(tmp_path / "cloud.yaml").consumers) == 40
    load(tmp_path / "cloud.yaml", there)
    assert state(other) == state(one)
    assert dump(there, tmp_path / "again.yaml") == text


@pytest.mark.parametrize("pages", [True, False])
def test_what_is_deleted_while_it_is_read_is_left_out(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pages: bool
) -> None:
    service, url = server
    load(DEMO, url)
    if not pages:
        without_lists(monkeypatch)
    host = next(each for each in load_file(DEMO).providers if each.name == "numa-d03-node1-nic")
    tree = [host, *(each for each in load_file(DEMO).providers if each.parent_uuid == host.uuid)]

    def deleting(client: RestClient, path: str, member: str) -> list[Any]:
        answer = items(client, path, member)
        if path == "/resource_providers":
            for each in reversed(tree):
                service.expect(204, "DELETE", f"/resource_providers/{each.uuid}")
        return answer

    items = RestClient.items
    monkeypatch.setattr(RestClient, "items", deleting)
    names = {each.name for each in load_file(DEMO).providers}
    dump(url, tmp_path / "cloud.yaml")
    assert {each.name for each in load_file(tmp_path / "cloud.yaml").providers} == names - {
        each.name for each in tree
    }


@pytest.mark.parametrize("stop", range(1, 6))
def test_a_host_over_its_capacity_comes_back_so_from_wherever_loading_stops(
    server: Server, empty: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stop: int
) -> None:
    (one, url), (other, there) = server, empty
    use(one)
    host = str(uuid.UUID(int=1))
    one.expect(204, "PUT", f"/allocations/{uuid.UUID(int=8)}", claim({host: {"VCPU": 3}}))
    put(one, host, "inventories", {"VCPU": {"total": 2, "max_unit": 1, "reserved": 1}})
    text = dump(url, tmp_path / "cloud.yaml")
    send, writes = RestClient.send, 0

    def stopping(client: RestClient, method: str, *rest: Any, **options: Any) -> Any:
        nonlocal writes
        writes += method != "GET"
        if writes == stop:
            raise KeyboardInterrupt
        return send(client, method, *rest, **options)

    monkeypatch.setattr(RestClient, "send", stopping)
    code = load_cloud(str(tmp_path / "cloud.yaml"), there, "admin", out=io.StringIO())
    monkeypatch.setattr(RestClient, "send", send)
    # Four writes: a provider with room, two consumers, the inventory.
    assert code == (130 if stop <= 4 else 0)
    load(tmp_path / "cloud.yaml", there)
    assert state(other) == state(one)
    assert dump(there, tmp_path / "again.yaml") == text


def test_a_hold_is_omitted(
    server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    service, url = server
    use(service)
    body = {
        "request": {"groups": {"": {"resources": {"VCPU": 1}}}},
        "consumer_uuid": str(uuid.UUID(int=9)),
        "project_id": "p",
        "user_id": "u",
        "consumer_type": "INSTANCE",
        "expires_in": 600,
    }
    service.expect(201, "POST", "/claims", body, "2.0")
    path = tmp_path / "cloud.yaml"
    assert main(["dump-cloud", "--url", url, str(path)]) == 0
    assert [each.uuid for each in load_file(path).consumers] == [str(uuid.UUID(int=7))]
    assert complaints(capsys.readouterr().err)[-1] == "1 providers, 1 consumers; 1 holds omitted"


def test_a_hold_becomes_the_permanent_consumer_of_the_file(
    server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    service, url = server
    use(service)
    path = tmp_path / "cloud.yaml"
    dump(url, path)
    consumer = str(uuid.UUID(int=7))
    service.expect(204, "DELETE", f"/allocations/{consumer}")
    body = {
        "request": {"groups": {"": {"resources": {"VCPU": 2}}}},
        "consumer_uuid": consumer,
        "project_id": "project",
        "user_id": "user",
        "consumer_type": "INSTANCE",
        "expires_in": 600,
    }
    service.expect(201, "POST", "/claims", body, "2.0")
    assert load_cloud(str(path), url, "admin", objection=preview) == 0
    assert capsys.readouterr().out == f"consumer {consumer}: permanent instead of a hold\n"
    assert "0 created, 1 changed, 0 as they were" in load(path, url)
    assert "expires_at" not in service.get(f"/consumers/{consumer}", "2.0")
    assert "0 created, 0 changed, 1 as they were" in load(path, url)


def test_a_server_without_groups_and_requests_is_not_written(
    server: Server, empty: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (one, url), (other, there) = server, empty
    use(one)
    record(one, str(uuid.UUID(int=7)), {"VCPU": 2})
    path = tmp_path / "cloud.yaml"
    dump(url, path)
    before = other.dump()
    monkeypatch.setattr(RestClient, "newest", (1, 39))
    out = io.StringIO()
    assert load_cloud(str(path), there, "admin", out=out) == 1
    assert "the server stores no spread groups and requests" in out.getvalue()
    assert other.dump() == before


def use(service: Service) -> None:
    """Create a host of 8 VCPU with a consumer that uses 2."""
    body: dict[str, object] = {"name": "host", "uuid": str(uuid.UUID(int=1))}
    service.expect(200, "POST", "/resource_providers", body)
    path = f"/resource_providers/{uuid.UUID(int=1)}"
    service.expect(200, "PUT", f"{path}/inventories", inventories(0, VCPU=8))
    body = claim({str(uuid.UUID(int=1)): {"VCPU": 2}})
    service.expect(204, "PUT", f"/allocations/{uuid.UUID(int=7)}", body)


def test_a_file_that_cannot_be_written(server: Server, tmp_path: Path) -> None:
    out = io.StringIO()
    path = tmp_path / "no" / "cloud.yaml"
    assert dump_cloud(server[1], "admin", path=str(path), out=out) == 1
    assert out.getvalue().splitlines()[-1] == (
        f"placement: {path}: cannot be written: No such file or directory"
    )


def test_a_file_that_exists_is_replaced_on_request_only(
    server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "cloud.yaml"
    path.write_text("mine")
    command = ["dump-cloud", "--url", server[1], str(path)]
    assert main(command) == 1
    assert capsys.readouterr().err == f"placement: {path}: exists; --force replaces it\n"
    assert path.read_text() == "mine"
    assert main([*command, "--force"]) == 0
    assert path.read_text() == dump(server[1], tmp_path / "other.yaml")


def test_a_device_or_a_link_is_not_replaced(server: Server, tmp_path: Path) -> None:
    expected = dump(server[1], tmp_path / "other.yaml")
    pipe, file, link = (tmp_path / name for name in ("pipe", "cloud.yaml", "link.yaml"))
    os.mkfifo(pipe)
    file.write_text("mine")
    link.symlink_to(file)
    command = ["dump-cloud", "--url", server[1], "--force"]
    with open(os.open(pipe, os.O_RDWR | os.O_NONBLOCK), "rb", buffering=0) as reader:
        assert main([*command, str(pipe)]) == 0
        assert pipe.is_fifo()
        assert reader.read(2 * len(expected)) == expected.encode()
    assert main([*command, str(link)]) == 0
    assert (link.is_symlink(), file.read_text()) == (True, expected)


# -- what loading would change ----------------------------------------------------------------

CHANGED = """\
resource_classes: [CUSTOM_TIN]
providers:
- name: host
  uuid: 00000000-0000-0000-0000-000000000001
  inventories: {VCPU: {total: 8, reserved: 1}, DISK_GB: 100}
  traits: [CUSTOM_BIG]
  children:
  - name: disk
    aggregates: [5ac00000-0000-4000-8000-00000000000a]
consumers:
- uuid: 00000000-0000-0000-0000-000000000007
  project: project
  user: other
  allocations: {host: {VCPU: 3}}
  spread_group: {name: web, max_per_host: 1}
  request: {groups: {'': {resources: {VCPU: 3}}}}
"""


def test_a_dry_run_tells_each_change_and_makes_none(
    server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    service, url = server
    use(service)
    path = tmp_path / "cloud.yaml"
    path.write_text(CHANGED)
    before = service.dump()
    assert main(["load-cloud", str(path), "--url", url, "--dry-run"]) == 0
    assert service.dump() == before
    captured = capsys.readouterr()
    assert captured.out.splitlines() == [
        "create resource class CUSTOM_TIN",
        "create trait CUSTOM_BIG",
        "host: VCPU reserved 0 -> 1",
        "host: + DISK_GB total 100",
        "host: + trait CUSTOM_BIG",
        "+ child disk below host",
        "disk: + aggregate 5ac00000-0000-4000-8000-00000000000a",
        "consumer 00000000-0000-0000-0000-000000000007: user user -> other; host VCPU 2 -> 3",
        "consumer 00000000-0000-0000-0000-000000000007: spread group web, at most 1 on a host",
        "consumer 00000000-0000-0000-0000-000000000007: request",
    ]
    assert complaints(captured.err)[-1] == (
        f"{path}: nothing was changed; loading gives 2 providers: 1 created, 1 changed, "
        "0 as they were; 1 consumers: 0 created, 1 changed, 0 as they were; "
        "new resource classes: 1, new traits: 1"
    )
