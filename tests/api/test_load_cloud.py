"""Loading cloud files over REST into a running server."""

import io
import json
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

import pytest
import requests

from falcon_placement_client.command_client import RestClient
from falcon_placement_client.commands.clouds import UNNAMED
from falcon_placement_client.loader import Cloud, load_cloud, load_file, other_providers
from placement import cli
from tests.kit.listener import answering
from tests.kit.printed import without_program
from tests.kit.service import HEADERS

ROOT = Path(__file__).parents[2]
DEMO = ROOT / "etc" / "demo-cloud.yaml"
SMALL = """\
providers:
- name: host{n}
  count: 2
  inventories: {VCPU: 8, CUSTOM_GOLD: {total: 5, allocation_ratio: 2.5}}
  traits: [HW_CPU_X86_AVX2, CUSTOM_BIG]
  aggregates: [rack]
  children:
  - name: host{n}-disk
    inventories: {DISK_GB: {total: 100, reserved: 10}}
    aggregates: [rack, 5ac00000-0000-4000-8000-00000000000A]
- name: bare
"""
# 1 class, 1 trait; for each host 4 and 3 writes; 1 for the last.
SMALL_WRITES = 2 + 2 * (4 + 3) + 1
# 1 class, 1 trait; 3 trees.
SMALL_TREES_WRITES = 2 + 3


Item = TypeVar("Item")
Load = Callable[..., tuple[int, list[str]]]
Api = Callable[..., Any]
State = Mapping[str, tuple[object, ...]]


class Watch:
    """The requests that have changed data, and a function that is called before and after each."""

    def __init__(self) -> None:
        self.seen: list[str] = []
        self.before: Callable[[int], None] = lambda count: None
        self.after: Callable[[int], None] = lambda count: None
        # Whether the server answers as one of 2.0 without `/provider_trees`.
        self.lacks_trees = False


@pytest.fixture
def small(tmp_path: Path) -> Path:
    path = tmp_path / "small.yaml"
    path.write_text(SMALL)
    return path


@pytest.fixture
def load(live_server: str) -> Load:
    """Load a file. Return the exit code and the lines of the output."""

    def run(path: Path, **options: Any) -> tuple[int, list[str]]:
        out = io.StringIO()
        options = {"url": live_server, "token": "admin", **options}
        code = load_cloud(str(path), out=out, **options)
        return code, without_program(out.getvalue(), failed=code != 0).splitlines()

    return run


@pytest.fixture
def api(live_server: str) -> Iterator[Api]:
    """Send a request to the server without the loader. Return the JSON response."""
    with requests.Session() as session:
        session.headers.update(HEADERS)

        def request(method: str, path: str, body: object = None) -> Any:
            response = session.request(method, live_server + path, json=body, timeout=30)
            assert response.ok, response.text
            return response.json() if response.content else {}

        yield request


@pytest.fixture
def writes(monkeypatch: pytest.MonkeyPatch) -> Watch:
    """Record the requests that change data. ``watch`` is called before and after each request."""
    watch = Watch()
    send = requests.Session.send

    def counting(
        session: requests.Session, request: requests.PreparedRequest, **options: Any
    ) -> requests.Response:
        if request.method == "GET":
            return send(session, request, **options)
        watch.seen.append(f"{request.method} {request.path_url}")
        watch.before(len(watch.seen))
        if watch.lacks_trees and request.url:
            request.url = request.url.replace("/provider_trees/", "/no_such_path/")
        response = send(session, request, **options)
        watch.after(len(watch.seen))
        return response

    monkeypatch.setattr(requests.Session, "send", counting)
    return watch


@pytest.fixture
def singly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Send single requests, as to a server that does not support 2.0."""
    monkeypatch.setattr(RestClient, "writes_trees", False)


def state(api: Api, cloud: Cloud) -> State:
    """Return the server's data about the providers of ``cloud``, without generations."""
    records = {}
    providers = {p["uuid"]: p for p in api("GET", "/resource_providers")["resource_providers"]}
    for provider in cloud.providers:
        path = f"/resource_providers/{provider.uuid}"
        summary = providers[provider.uuid]
        inventories = api("GET", f"{path}/inventories")["inventories"]
        records[provider.uuid] = (
            summary["name"],
            summary["parent_provider_uuid"],
            {name: tuple(sorted(inventory.items())) for name, inventory in inventories.items()},
            set(api("GET", f"{path}/traits")["traits"]),
            set(api("GET", f"{path}/aggregates")["aggregates"]),
        )
    return records


def wanted(cloud: Cloud) -> State:
    """Return the expected data on the server."""
    return {
        provider.uuid: (
            provider.name,
            provider.parent_uuid,
            {
                name: tuple(
                    (field, getattr(record, field)) for field in sorted(record.__dataclass_fields__)
                )
                for name, record in provider.inventory.items()
            },
            provider.traits,
            provider.aggregates,
        )
        for provider in cloud.providers
    }


def test_demo_cloud_is_loaded_whole_and_only_once(load: Load, api: Api, writes: Watch) -> None:
    cloud = load_file(DEMO)
    code, lines = load(DEMO)
    assert code == 0
    assert "loading: 201 of 201 providers" in lines
    assert lines[-2:] == [
        "loading: 40 of 40 consumers",
        f"{DEMO}: 201 providers: 201 created, 0 changed, 0 as they were; "
        "40 consumers: 40 created, 0 changed, 0 as they were; "
        "new resource classes: 1, new traits: 7",
    ]
    assert state(api, cloud) == wanted(cloud)

    writes.seen.clear()
    code, lines = load(DEMO)
    assert code == 0
    assert "0 created, 0 changed, 201 as they were" in lines[-1]
    assert writes.seen == []


def test_readme_shows_the_answer_to_its_question(load: Load, api: Api) -> None:
    readme = (ROOT / "README.rst").read_text()
    question = re.search(r"'http://127.0.0.1:8778(/allocation_candidates\?\S+)'", readme)
    answer = re.search(r"^    (\{\"allocation_requests.+?)\n\n", readme, re.DOTALL | re.MULTILINE)
    assert question
    assert answer
    load(DEMO)
    served = api("GET", question[1])
    assert served["allocation_requests"] == json.loads(answer[1])["allocation_requests"]
    drawn = re.findall(r"^[ |+-]*(fpga-d01\S*) ", readme, re.MULTILINE)
    assert drawn == [
        provider.name
        for provider in load_file(DEMO).providers
        if provider.name.startswith("fpga-d01")
    ]


def test_demo_cloud_serves_what_its_comments_promise(load: Load, api: Api) -> None:
    load(DEMO)

    def candidates(query: str) -> int:
        return len(api("GET", f"/allocation_candidates?{query}")["allocation_requests"])

    rack = "member_of=5ac00000-0000-4000-8000-00000000000"
    # 10 hosts of rack B, each with a disk of its own or the shared one; only the own disk is
    # in the rack's aggregate.
    assert candidates(f"resources=VCPU:1,DISK_GB:10&{rack}b") == 10
    assert (
        candidates(f"resources=VCPU:1&resources_D=DISK_GB:10&required_D=STORAGE_DISK_SSD&{rack}b")
        == 10
    )
    # 8 diskless hosts of rack C, each with either shared disk.
    assert candidates(f"resources=VCPU:1&resources_D=DISK_GB:10&{rack}c") == 16
    assert candidates("resources=VCPU:1&root_required=CUSTOM_WINDOWS_LICENSE_POOL") == 2
    # Both types of FPGA below one node: one node in each of four hosts.
    assert (
        candidates(
            "required_N=HW_NUMA_ROOT&resources_A=FPGA:1&required_A=CUSTOM_FPGA_TYPE1"
            "&resources_B=FPGA:1&required_B=CUSTOM_FPGA_TYPE2&group_policy=none"
            "&same_subtree=_N,_A,_B"
        )
        == 4
    )
    # A function on each physical network, on one card: 10 hosts with two cards.
    assert (
        candidates(
            "required_C=CUSTOM_HW_NIC_ROOT&resources_A=SRIOV_NET_VF:1&required_A=CUSTOM_PHYSNET_NET1"
            "&resources_B=SRIOV_NET_VF:1&required_B=CUSTOM_PHYSNET_NET2&group_policy=none"
            "&same_subtree=_C,_A,_B"
        )
        == 20
    )


def test_a_new_tree_is_one_write(load: Load, api: Api, small: Path, writes: Watch) -> None:
    cloud = load_file(small)
    code, lines = load(small)
    assert code == 0
    assert "5 created, 0 changed, 0 as they were" in lines[-1]
    roots = [each.uuid for each in cloud.providers if each.parent_uuid is None]
    assert writes.seen[2:] == [f"PUT /provider_trees/{root}" for root in roots]
    assert state(api, cloud) == wanted(cloud)


def interrupt_and_complete(
    load: Load, small: Path, writes: Watch, count: int, answered: bool
) -> None:
    """Interrupt loading at a write, and load again. Return the remaining writes."""

    def interrupt(done: int) -> None:
        if done == count:
            raise KeyboardInterrupt

    if answered:
        writes.before = interrupt
    else:
        writes.after = interrupt
    code, lines = load(small)
    assert (code, lines[-1]) == (130, "interrupted; loading again completes what is missing")

    writes.before = writes.after = lambda done: None
    writes.seen.clear()
    assert load(small)[0] == 0


@pytest.mark.usefixtures("singly")
@pytest.mark.parametrize("answered", [True, False], ids=["answered", "answer-lost"])
@pytest.mark.parametrize("count", [2, 6, SMALL_WRITES])
def test_interrupted_and_completed(
    load: Load, api: Api, small: Path, writes: Watch, count: int, answered: bool
) -> None:
    interrupt_and_complete(load, small, writes, count, answered)
    assert len(writes.seen) == SMALL_WRITES - (count - 1 if answered else count)
    cloud = load_file(small)
    assert state(api, cloud) == wanted(cloud)


@pytest.mark.parametrize("answered", [True, False], ids=["answered", "answer-lost"])
@pytest.mark.parametrize("count", [1, 3, SMALL_TREES_WRITES])
def test_interrupted_and_completed_by_trees(
    load: Load, api: Api, small: Path, writes: Watch, count: int, answered: bool
) -> None:
    interrupt_and_complete(load, small, writes, count, answered)
    assert len(writes.seen) == SMALL_TREES_WRITES - (count - 1 if answered else count)
    cloud = load_file(small)
    assert state(api, cloud) == wanted(cloud)


@pytest.mark.parametrize("count", [1, 3, SMALL_TREES_WRITES])
def test_a_broken_connection_is_tried_again(
    load: Load, api: Api, small: Path, writes: Watch, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    monkeypatch.setattr("falcon_placement_client.identity.RETRY_SECONDS", 0.001)

    def lose(done: int) -> None:
        if done == count:
            raise requests.ConnectionError("gone")

    writes.after = lose
    assert load(small)[0] == 0
    cloud = load_file(small)
    assert state(api, cloud) == wanted(cloud)


def test_a_server_that_does_not_come_back_is_named_with_what_to_do(
    load: Load, live_server: str, small: Path, writes: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("falcon_placement_client.identity.RETRY_SECONDS", 0.001)

    def lose(done: int) -> None:
        raise requests.ConnectionError("gone")

    writes.before = lose
    code, lines = load(small)
    assert (code, lines[-1]) == (
        1,
        f"lost {live_server} at PUT /resource_classes/CUSTOM_GOLD: gone; "
        "loading again completes what is missing",
    )


@pytest.mark.usefixtures("singly")
def test_a_lost_race_is_tried_again(load: Load, api: Api, small: Path, writes: Watch) -> None:
    cloud = load_file(small)
    host = cloud.providers[0]
    path = f"/resource_providers/{host.uuid}"

    def race(done: int) -> None:
        if done == 4:
            writes.before = lambda done: None
            api("PUT", f"{path}/aggregates", {"aggregates": [], "resource_provider_generation": 0})

    writes.before = race
    assert load(small)[0] == 0
    # That of the other client, the one that it makes fail, and its repetition.
    assert writes.seen.count(f"PUT {path}/aggregates") == 3
    assert state(api, cloud) == wanted(cloud)


def test_changes_are_put_right_and_strangers_left_alone(load: Load, api: Api, small: Path) -> None:
    load(small)
    cloud = load_file(small)
    path = f"/resource_providers/{cloud.providers[0].uuid}"
    generation = api("GET", f"{path}/traits")["resource_provider_generation"]
    body = {"traits": ["HW_CPU_X86_AVX"], "resource_provider_generation": generation}
    api("PUT", f"{path}/traits", body)
    api("POST", "/resource_providers", {"name": "stranger"})
    code, lines = load(small)
    assert code == 0
    assert "5 providers: 0 created, 1 changed, 4 as they were" in lines[-1]
    assert state(api, cloud) == wanted(cloud)
    assert len(api("GET", "/resource_providers?name=stranger")["resource_providers"]) == 1


def test_a_class_in_use_is_not_taken_away(load: Load, api: Api, tmp_path: Path) -> None:
    path = tmp_path / "cloud.yaml"
    path.write_text("providers:\n- name: first\n- name: host\n  inventories: {VCPU: 8, PCPU: 8}\n")
    load(path)
    host = load_file(path).providers[1].uuid
    api(
        "PUT",
        "/allocations/c0ffee00-0000-4000-8000-000000000001",
        {
            "allocations": {host: {"resources": {"PCPU": 1}}},
            "project_id": "p",
            "user_id": "u",
            "consumer_generation": None,
            "consumer_type": "INSTANCE",
        },
    )
    path.write_text("providers:\n- name: first\n- name: host\n  inventories: {VCPU: 9}\n")
    code, (*_, line) = load(path)
    assert code == 1
    assert line.startswith(f"{path}:3: provider host: PUT /provider_trees/{host}")
    assert "was refused with 409" in line
    assert f"Inventory for 'PCPU' on resource provider '{host}' in use" in line
    assert (
        api("GET", f"/resource_providers/{host}/inventories")["inventories"]["VCPU"]["total"] == 8
    )


@pytest.mark.parametrize(
    ("key", "unknown"),
    [
        ("traits: [QQ_ZZZ]", "trait QQ_ZZZ; custom names begin with CUSTOM_"),
        ("traits: [HW_CPU_X86_AVXX]", "trait HW_CPU_X86_AVXX; did you mean HW_CPU_X86_AVX?"),
        ("inventories: {QQ_ZZZ: 1}", "resource class QQ_ZZZ; custom names begin with CUSTOM_"),
        ("inventories: {VCPUS: 1}", "resource class VCPUS; did you mean VCPU?"),
    ],
)
def test_a_name_unknown_to_the_server(
    load: Load, api: Api, tmp_path: Path, key: str, unknown: str
) -> None:
    path = tmp_path / "cloud.yaml"
    path.write_text(f"providers:\n- name: first\n  traits: [CUSTOM_X]\n- name: host\n  {key}\n")
    assert load(path) == (1, [f"{path}:4: provider host: the server knows no {unknown}"])
    assert api("GET", "/resource_providers")["resource_providers"] == []
    assert "CUSTOM_X" not in api("GET", "/traits")["traits"]


OTHER = "5ac00000-0000-4000-8000-000000000001"


@pytest.mark.parametrize(
    ("there", "entry", "text"),
    [
        (
            {"name": "host", "uuid": OTHER},
            "name: host",
            f"on the server this name belongs to {OTHER}, in the file to ",
        ),
        (
            {"name": "other", "uuid": OTHER},
            f"name: host\n  uuid: {OTHER}",
            f"on the server its UUID {OTHER} belongs to 'other'",
        ),
        (
            {"name": "host", "uuid": OTHER},
            f"name: above\n  children:\n  - name: host\n    uuid: {OTHER}",
            "on the server its parent is none, in the file ",
        ),
    ],
)
def test_a_clash_is_found_before_anything_is_written(
    load: Load,
    api: Api,
    writes: Watch,
    tmp_path: Path,
    there: Mapping[str, object],
    entry: str,
    text: str,
) -> None:
    api("POST", "/resource_providers", there)
    writes.seen.clear()
    path = tmp_path / "cloud.yaml"
    path.write_text(f"providers:\n- name: first\n- {entry}\n")
    code, (line,) = load(path)
    assert code == 1
    assert line.startswith(f"{path}:{5 if 'children' in entry else 3}: provider host: {text}")
    assert writes.seen == []


def test_a_token_that_is_refused(load: Load, small: Path, writes: Watch) -> None:
    code, (line,) = load(small, token="bob")
    assert code == 1
    assert line == (
        "the token does not permit GET /resource_providers (403): Policy does not allow "
        "placement:resource_providers:list to be performed: it needs the role admin or service"
    )
    assert writes.seen == []


@pytest.mark.parametrize("url", [
    "127.0.0.1:8778", "ftp://here", "http://", "http://[", "",
    "http://a..b:8778", f"http://{'a' * 64}:8778", "http://localhost:87780",
])  # fmt: skip
def test_a_url_that_is_none(load: Load, small: Path, url: str) -> None:
    code, (line,) = load(small, url=url)
    assert code == 1
    assert line.startswith(f"{url!r} is not the URL of a server")


def test_no_server(load: Load, small: Path) -> None:
    assert load(small, url="http://127.0.0.1:1") == (
        1,
        [
            "cannot reach http://127.0.0.1:1: connection refused; check the URL, and that the "
            "service runs"
        ],
    )
    assert load(small, url="http://127.0.0.1:1", wait=0.3) == (
        1,
        ["no response from http://127.0.0.1:1 in 0.3 seconds: connection refused"],
    )


UNACCEPTABLE = {"status": 406, "detail": "no", "max_version": "1.10", "min_version": "1.0"}
BUSY = {"status": 503, "detail": "database\nis away", "code": "placement.undefined_code"}


@pytest.mark.parametrize(
    ("status", "body", "expected"),
    [
        (401, {}, "the server does not accept the token (401); give one with --token or OS_TOKEN"),
        (
            406,
            {"errors": [UNACCEPTABLE]},
            "the server does not support version 1.39 (406): it offers 1.0 to 1.10",
        ),
        (503, {"errors": [BUSY]}, "GET /resource_providers was refused with 503: database is away"),
        (302, {}, "GET /resource_providers was refused with 302: Found"),
        (
            200,
            {"a": 1},
            "URL is not a placement server: no resource_providers at /resource_providers",
        ),
        (200, [], "URL is not a placement server: no resource_providers at /resource_providers"),
        (200, None, "GET /resource_providers: URL does not respond in JSON"),
    ],
)
def test_answers_of_other_servers(
    small: Path, monkeypatch: pytest.MonkeyPatch, status: int, body: bytes, expected: str
) -> None:
    monkeypatch.setattr("falcon_placement_client.identity.RETRY_SECONDS", 0.001)
    out = io.StringIO()
    with answering(status, b"<html>" if body is None else json.dumps(body).encode()) as url:
        assert load_cloud(str(small), url, "admin", out=out) == 1
    assert out.getvalue() == f"placement: {expected.replace('URL', url)}\n"


def test_only_if_empty(load: Load, api: Api, small: Path) -> None:
    assert load(small, objection=other_providers, wait=5)[0] == 0
    assert load(small, objection=other_providers) == (
        0,
        ["the server has 5 providers already, nothing loaded"],
    )
    (bare,) = api("GET", "/resource_providers?name=bare")["resource_providers"]
    api("DELETE", f"/resource_providers/{bare['uuid']}")
    code, lines = load(small, objection=other_providers)
    assert code == 0
    assert lines[-1].startswith(f"{small}: 5 providers: 1 created, 0 changed, 4 as they were")
    api("POST", "/resource_providers", {"name": "stranger"})
    api("DELETE", f"/resource_providers/{bare['uuid']}")
    assert load(small, objection=other_providers) == (
        0,
        ["the server has 5 providers already, nothing loaded"],
    )


# -- the command: into which server, and whether it may ---------------------------------------


@pytest.mark.parametrize("arguments", [[], ["--token", "admin"], ["--dry-run"]], ids=str)
def test_a_server_that_is_not_named_is_not_written_to(
    arguments: list[str], small: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["load-cloud", str(small), *arguments]) == 1
    assert capsys.readouterr().err == f"placement: {UNNAMED}\n"


def test_an_empty_server_is_loaded_without_a_question(
    live_server: str, small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO())
    assert cli.main(["load-cloud", str(small), "--url", live_server]) == 0


@pytest.mark.parametrize("typed", ["", "\n", "y\n", "no\n"], ids=repr)
def test_a_server_with_providers_is_not_written_to_unless_yes_is_typed(
    typed: str,
    load: Load,
    writes: Watch,
    live_server: str,
    small: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    load(small)
    writes.seen.clear()
    small.write_text("providers:\n- name: another\n")
    monkeypatch.setattr("sys.stdin", Terminal(typed))
    assert cli.main(["load-cloud", str(small), "--url", live_server]) == 1
    captured = capsys.readouterr()
    asked = f"{live_server} has 5 providers already. Type yes to load the file: "
    assert captured.out.rstrip("\n") == asked
    assert captured.err.splitlines()[-1] == "placement: nothing was loaded"
    assert writes.seen == []
    monkeypatch.setattr("sys.stdin", Terminal("yes\n"))
    assert cli.main(["load-cloud", str(small), "--url", live_server]) == 0
    assert writes.seen != []


def test_without_a_terminal_a_server_with_providers_needs_yes(
    load: Load,
    writes: Watch,
    live_server: str,
    small: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    load(small)
    writes.seen.clear()
    small.write_text("providers:\n- name: another\n")
    monkeypatch.setattr("sys.stdin", io.StringIO("yes\n"))
    assert cli.main(["load-cloud", str(small), "--url", live_server]) == 1
    assert "has 5 providers already: use --yes to load" in capsys.readouterr().err
    assert writes.seen == []
    assert cli.main(["load-cloud", str(small), "--url", live_server, "--yes"]) == 0
    assert writes.seen != []


class Terminal(io.StringIO):
    """Standard input of a terminal at which an operator types."""

    def isatty(self) -> bool:
        return True
