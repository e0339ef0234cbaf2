"""The commands that this project adds to the program `openstack`."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement

from falcon_placement_client import hosts, watching
from falcon_placement_client.command_client import RestClient
from falcon_placement_client.loader import load_cloud
from falcon_placement_client.watching import WatchedTree, WatchEvent
from tests.api.openstack_cloud import Openstack, cloud, use_catalogue, use_endpoint
from tests.kit.listener import listening
from tests.kit.service import Service

OURS = "openstack.falcon_placement.v2"
THEIRS = "openstack.placement.v1"

# Command -> what it needs placement 2.0 for.
NEED_2_0 = {
    "candidate explain --resource VCPU=1": "an explanation",
    "change watch": "watch",
    "claim confirm 5ca1ab1e-0000-4000-8000-00000000000a": "a hold",
    "claim create --resource VCPU=1": "a claim in one request",
    "claim extend 5ca1ab1e-0000-4000-8000-00000000000a --expires-in 9": "a hold",
    "claim list": "a list of consumers",
    "claim release 5ca1ab1e-0000-4000-8000-00000000000a": "a hold",
    "consumer list": "a list of consumers",
    "consumer show 5ca1ab1e-0000-4000-8000-00000000000a": "a consumer",
    "headroom show --resource VCPU=1": "headroom",
    "host drain-check compute-1": "a check of drains",
}

CLOUD = """\
providers:
- name: compute-1
  inventories:
    VCPU: {total: 8}
    MEMORY_MB: {total: 8192}
  traits: [HW_CPU_X86_AVX2]
  children:
  - name: compute-1-gpu
    inventories:
      VGPU: {total: 4}
- name: compute-2
  inventories:
    VCPU: {total: 4}
    MEMORY_MB: {total: 4096}
    DISK_GB: {total: 17, min_unit: 17}
  traits: [HW_CPU_X86_AVX2]
consumers:
- uuid: 5ca1ab1e-0000-4000-8000-00000000000a
  project: p
  user: u
  type: INSTANCE
  allocations:
    compute-1: {VCPU: 2}
"""


@pytest.fixture
def openstack(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Openstack:
    monkeypatch.chdir(tmp_path)  # without a clouds.yaml
    return Openstack(capsys)


@pytest.fixture
def url(tmp_path: Path) -> Iterator[str]:
    """The URL of a service with two hosts and a consumer."""
    (tmp_path / "cloud.yaml").write_text(CLOUD)
    taints = {"taints": ["CUSTOM_MAINTENANCE"]}
    with Service(tmp_path, placement=taints) as service, listening(service.application) as url:
        assert load_cloud(str(tmp_path / "cloud.yaml"), url, "admin") == 0
        yield url


@pytest.fixture(params=["catalogue", "endpoint"])
def either(
    request: pytest.FixtureRequest, url: str, monkeypatch: pytest.MonkeyPatch
) -> Iterator[str]:
    """Configure the service with the catalogue of an identity service, or with a token."""
    if request.param == "endpoint":
        use_endpoint(monkeypatch, url)
        yield url
        return
    with cloud(url) as served:
        use_catalogue(monkeypatch, served)
        yield url


@pytest.fixture
def endpoint(url: str, monkeypatch: pytest.MonkeyPatch) -> str:
    use_endpoint(monkeypatch, url)
    return url


def commands(group: str) -> set[str]:
    return {each.name.replace("_", " ") for each in metadata.entry_points(group=group)}


def test_both_plugins_have_all_their_commands(openstack: Openstack) -> None:
    ours, theirs = commands(OURS), commands(THEIRS)
    assert ours
    assert theirs
    assert not ours & theirs
    code, listed = openstack.run("command", "list", "-f", "json")
    assert code == 0, openstack.complaint
    assert openstack.complaint == ""
    by_group = {each["Command Group"]: set(each["Commands"]) for each in json.loads(listed)}
    assert by_group[OURS] == ours
    assert by_group[THEIRS] == theirs
    others = set().union(*(names for group, names in by_group.items() if group != OURS))
    assert not ours & others


WITHOUT_EXTRA = """
import sys
sys.modules |= dict.fromkeys(sys.argv.pop(1).split(","))
from openstackclient.shell import main
sys.exit(main())
"""


def test_commands_load_without_the_extra_and_name_it_when_they_need_it(
    endpoint: str, tmp_path: Path
) -> None:
    """python-openstackclient installs some of the packages of the extra, but not all."""
    of_client = metadata.requires("falcon-placement-client") or ()
    extra = [each for each in of_client if 'extra == "commands"' in each]
    names, of_cliff = (
        {Requirement(each).name.lower() for each in texts}
        for texts in (extra, metadata.requires("cliff") or ())
    )
    missing = names - of_cliff
    assert missing

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-W", "ignore", "-c", WITHOUT_EXTRA, ",".join(missing)]
        return subprocess.run(
            [*command, *arguments], capture_output=True, text=True, check=False, cwd=tmp_path
        )

    helped = run("--help")
    assert "placement host list" in helped.stdout
    assert "Could not load" not in helped.stdout + helped.stderr
    loaded = run("placement", "cloud", "load", "cloud.yaml", "--yes")
    needed = "the command needs jsonschema: pip install 'falcon-placement-client[openstack]'\n"
    assert (loaded.returncode, loaded.stderr) == (1, needed)


@pytest.mark.parametrize("name", sorted(commands(OURS)))
def test_each_command_has_help_with_an_example(openstack: Openstack, name: str) -> None:
    code, text = openstack.run(*name.split(), "--help")
    assert code == 0, openstack.complaint
    assert f"example:\n  openstack {name}" in text


def test_the_documentation_lists_the_commands() -> None:
    page = (Path(__file__).parents[2] / "docs" / "openstack.rst").read_text()
    listed = re.findall(r"^   \* - ``(placement [a-z -]+)``$", page, re.MULTILINE)
    assert listed == sorted(commands(OURS))


def test_a_tree_is_shown_by_the_name_of_any_provider(openstack: Openstack, either: str) -> None:
    rows = openstack.rows("placement", "tree", "show", "compute-1-gpu")
    assert [(row["name"], row["used"]) for row in rows] == [
        ("compute-1", {"MEMORY_MB": 0, "VCPU": 2}),
        ("compute-1-gpu", {"VGPU": 0}),
    ]
    assert rows[0]["inventories"]["VCPU"]["total"] == 8
    assert rows == openstack.rows("placement", "tree", "show", rows[0]["uuid"])


@pytest.mark.parametrize("form", ["csv", "table"])
def test_each_formatter_prints_a_tree(openstack: Openstack, endpoint: str, form: str) -> None:
    code, text = openstack.run("placement", "tree", "show", "compute-1", "-f", form)
    assert code == 0
    assert "compute-1-gpu" in text


@pytest.mark.parametrize(
    "command",
    ["tree show", "tree draw", "host taint", "candidate explain --resource VCPU=99 --in-tree"],
)
@pytest.mark.parametrize("missing", ["", "2"])
def test_names_move_no_cursor(
    openstack: Openstack, endpoint: str, command: str, missing: str
) -> None:
    name = "evil\x1b[31m\u202e"
    RestClient(endpoint, "admin").post("/resource_providers", {"name": name})
    _code, text = openstack.run("placement", *command.split(), name + missing)
    printed = text + openstack.complaint
    assert "evil\\x1b[31m\\u202e" in printed
    assert printed.replace("\n", "").isprintable()


@pytest.fixture
def file(openstack: Openstack, endpoint: str, tmp_path: Path) -> Path:
    """Write a file with the rows of a tree."""
    path = tmp_path / "tree.yaml"
    code, text = openstack.run("placement", "tree", "show", "compute-1", "-f", "yaml")
    assert code == 0
    path.write_text(text)
    return path


def edit(path: Path) -> None:
    """Change the VCPU of the host, a trait and the name of the child."""
    rows = yaml.safe_load(path.read_text())
    rows[0]["inventories"]["VCPU"]["total"] = 16
    rows[0]["traits"] = ["CUSTOM_NEW"]
    rows[1]["name"] = "gpu"
    path.write_text(yaml.safe_dump(rows))


def test_a_shown_tree_can_be_edited_and_applied(openstack: Openstack, file: Path) -> None:
    assert openstack.rows("placement", "tree", "diff", str(file)) == []
    edit(file)
    changes = openstack.rows("placement", "tree", "diff", str(file), code=3)
    assert [row["change"] for row in changes] == [
        "compute-1: VCPU total 8 -> 16",
        "compute-1: + trait CUSTOM_NEW, - trait HW_CPU_X86_AVX2",
        "compute-1-gpu is renamed gpu",
    ]
    refusal = openstack.refusal("placement", "tree", "apply", str(file))
    assert "CUSTOM_NEW" in refusal
    apply = ("placement", "tree", "apply", str(file), "--create-names")
    rows = openstack.rows(*apply, "--dry-run")
    assert [(row["name"], row["change"]) for row in rows] == [
        ("compute-1", "updated"),
        ("gpu", "updated"),
    ]
    assert openstack.rows("placement", "tree", "diff", str(file), code=3) == changes
    assert openstack.rows(*apply) == rows
    assert openstack.rows("placement", "tree", "diff", str(file)) == []
    # The file contains older generations.
    assert "generation" in openstack.refusal(*apply)
    assert {row["change"] for row in openstack.rows(*apply, "--ignore-generations")} == {
        "unchanged"
    }
    file.write_text("&a [*a]")
    assert "an alias refers to a value that contains it" in openstack.refusal(*apply)


def test_candidates_are_listed_with_names(openstack: Openstack, either: str) -> None:
    rows = openstack.rows("placement", "candidate", "list", "--resource", "VCPU=3")
    assert {row["provider"]: row["resources"] for row in rows} == {
        "compute-1": {"VCPU": 3},
        "compute-2": {"VCPU": 3},
    }
    query = ("placement", "candidate", "list", "--query", "resources=VCPU:3")
    [row] = openstack.rows(*query, "--in-tree", "compute-1-gpu", "--limit", "1")
    assert (row["provider"], row["groups"]) == ("compute-1", [""])
    assert openstack.rows("placement", "candidate", "list", "--resource", "VCPU=9", code=3) == []


def test_a_flavor_of_nova_is_a_request(
    openstack: Openstack, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with cloud(url) as served:
        use_catalogue(monkeypatch, served)
        for name in ("m1.small", "f1"):
            [row] = openstack.rows("placement", "candidate", "list", "--flavor", name)
            # 10 and 5 GB, and 1,500 MB of swap.
            assert row["resources"] == {"VCPU": 2, "MEMORY_MB": 2048, "DISK_GB": 17}
        unknown = openstack.refusal("placement", "candidate", "list", "--flavor", "m1.huge")
        assert unknown == "flavor m1.huge: there is no such flavor"
    with cloud(url, with_compute=False) as served:
        use_catalogue(monkeypatch, served)
        refusal = openstack.refusal("placement", "candidate", "list", "--flavor", "m1.small")
        assert refusal == "flavor m1.small: the cloud has no compute endpoint"


def test_hosts_in_maintenance_are_left_out(openstack: Openstack, endpoint: str) -> None:
    listing = ("placement", "candidate", "list", "--resource", "VCPU=1", "-c", "provider")
    [row] = openstack.rows("placement", "host", "taint", "compute-1")
    assert row["taints"] == ["CUSTOM_MAINTENANCE"]
    assert openstack.complaint == ""
    assert openstack.rows(*listing) == [{"provider": "compute-2"}]
    assert openstack.rows("placement", "host", "list", "--tainted") == [row]
    openstack.rows("placement", "host", "untaint", "compute-1")
    assert len(openstack.rows(*listing)) == 2
    other = ("placement", "host", "taint", "compute-2", "--trait", "CUSTOM_OTHER")
    openstack.rows(*other, code=3)
    assert "CUSTOM_OTHER is no taint of the service" in openstack.complaint


SERVER = "5ca1ab1e-0000-4000-8000-00000000000a"


def test_consumers_are_listed_with_the_names_of_providers(
    openstack: Openstack, endpoint: str
) -> None:
    listing = ("placement", "consumer", "list")
    [row] = openstack.rows(*listing)
    assert (row["uuid"], row["project_id"], row["consumer_type"]) == (SERVER, "p", "INSTANCE")
    assert row["allocations"] == {"compute-1": {"VCPU": 2}}
    filters = ("--in-tree", "compute-1-gpu", "--project", "p", "--user", "u", "--limit", "1")
    assert openstack.rows(*listing, *filters) == [row]
    assert openstack.rows(*listing, "--in-tree", "compute-2") == []
    assert openstack.row("placement", "consumer", "show", SERVER) == row
    none = SERVER[:-1] + "b"
    refusal = openstack.refusal("placement", "consumer", "show", none)
    assert refusal == f"{none}: the consumer has no allocations"


def test_a_consumer_is_named_as_its_server(
    openstack: Openstack, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    show = ("placement", "consumer", "show", "-c", "uuid")
    with cloud(url) as served:
        use_catalogue(monkeypatch, served)
        assert openstack.row(*show, "web-1") == {"uuid": SERVER}
        assert openstack.refusal(*show, "web") == "server web: there is no such server"
    with cloud(url, with_compute=False) as served:
        use_catalogue(monkeypatch, served)
        assert openstack.refusal(*show, "web-1") == (
            "web-1: expected a UUID, because the cloud has no compute endpoint"
        )


OWNER = ("--project", "p", "--user", "u")


def test_a_hold_is_extended_listed_and_confirmed(openstack: Openstack, endpoint: str) -> None:
    create = ("placement", "claim", "create", "--resource", "VCPU=3", *OWNER)
    hold = openstack.row(*create, "--in-tree", "compute-2", "--expires-in", "600")
    assert hold["allocations"] == {"compute-2": {"VCPU": 3}}
    [listed] = openstack.rows("placement", "claim", "list", "--project", "p")
    assert (listed["uuid"], listed["expires_at"]) == (hold["consumer"], hold["expires_at"])
    assert openstack.rows("placement", "claim", "list", "--project", "q") == []
    extend = ("placement", "claim", "extend", hold["consumer"], "--expires-in", "6000")
    [extended] = openstack.rows(*extend)
    assert extended["expires_at"] > hold["expires_at"]
    confirm = ("placement", "claim", "confirm", hold["consumer"])
    assert openstack.rows(*confirm) == [{"consumer": hold["consumer"], "expires_at": None}]
    assert openstack.rows("placement", "claim", "list") == []
    for change in (confirm, extend, ("placement", "claim", "release", hold["consumer"])):
        assert openstack.refusal(*change) == (
            f"{hold['consumer']}: this claim is permanent now and is not a hold"
        )
    unknown = "5ca1ab1e-0000-4000-8000-0000000000ff"
    assert openstack.refusal("placement", "claim", "release", unknown) == (
        f"{unknown}: there is no such hold"
    )
    assert openstack.row("placement", "consumer", "show", hold["consumer"])["expires_at"] is None


def test_a_claim_that_finds_no_host_says_why(openstack: Openstack, endpoint: str) -> None:
    code, text = openstack.run(
        "placement", "claim", "create", "--resource", "VCPU=100", *OWNER, "-f", "json"
    )
    assert (code, text) == (3, "")
    [line] = openstack.complaint.splitlines()
    assert "None of 2 hosts can serve the request" in line


def test_a_claim_is_for_the_project_of_the_caller(
    openstack: Openstack, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    create = ("placement", "claim", "create", "--resource", "VCPU=1")
    with cloud(url) as served:
        use_catalogue(monkeypatch, served)
        claim = openstack.row(*create)
        owner = openstack.row("placement", "consumer", "show", claim["consumer"])
        assert (owner["project_id"], owner["user_id"]) == ("project-id", "user-id")


def test_headroom_is_shown_for_a_request(openstack: Openstack, endpoint: str) -> None:
    show = ("placement", "headroom", "show", "--resource", "VCPU=2")
    [row] = openstack.rows(*show)
    assert (row["fits"], row["at_most"], row["hosts"], row["largest"]) == (5, 5, 2, 3)
    assert {each["resource_class"] for each in row["limited_by"]} == {"VCPU"}
    assert "VCPU on " in openstack.run(*show)[1]
    [row] = openstack.rows(*show, "--in-tree", "compute-2", "--by-aggregate")
    assert row["fits"] == 2
    [row] = openstack.rows(*show, "--resource", "MEMORY_MB=100000", code=3)
    assert row["fits"] == 0


def test_changes_are_printed_as_they_happen(
    openstack: Openstack, endpoint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = RestClient(endpoint, "admin")
    watch = ("placement", "change", "watch", "--interval", "0.01")
    code, text = openstack.run(*watch, "--listed", "--count", "2")
    assert code == 0
    assert sorted(line.split()[::2] for line in text.splitlines()) == [
        ["listed", "compute-1"],
        ["listed", "compute-2"],
    ]
    usual = watching.watch

    def change_after_the_list(*arguments: Any) -> Iterator[WatchedTree]:
        listed = 0
        for tree in usual(*arguments):
            yield tree
            listed += tree.event is WatchEvent.LISTED
            if listed == 2:
                hosts.taint_host(client, "compute-1")
                listed += 1

    monkeypatch.setattr(watching, "watch", change_after_the_list)
    code, text = openstack.run(*watch, "--json", "--count", "1")
    assert code == 0
    row = json.loads(text)
    assert (row["event"], row["name"]) == ("changed", "compute-1")


def test_a_cloud_is_dumped_and_loaded(openstack: Openstack, endpoint: str, tmp_path: Path) -> None:
    path = str(tmp_path / "dump.yaml")
    assert openstack.run("placement", "cloud", "dump", path) == (0, "")
    assert openstack.complaint.endswith("3 providers, 1 consumers")
    assert openstack.refusal("placement", "cloud", "dump", path) == (
        f"{path}: exists; --force replaces it"
    )
    assert "has 3 providers already" in openstack.refusal("placement", "cloud", "load", path)
    assert openstack.run("placement", "cloud", "load", path, "--yes") == (0, "")
    assert "3 providers: 0 created, 0 changed, 3 as they were" in openstack.complaint
    (tmp_path / "more.yaml").write_text("providers: [{name: compute-3}]")
    code, text = openstack.run("placement", "cloud", "load", "more.yaml", "--dry-run")
    assert (code, text) == (0, "+ root compute-3\n")


@pytest.mark.parametrize("version", ["1.39"])
def test_a_version_below_2_0_is_respected(
    openstack: Openstack, endpoint: str, version: str, tmp_path: Path
) -> None:
    at = ("--os-placement-api-version", version)
    limited = f"requests are limited to {version}: see --os-placement-api-version"
    rows = openstack.rows(*at, "placement", "tree", "show", "compute-1")
    assert [row["name"] for row in rows] == ["compute-1", "compute-1-gpu"]
    (tmp_path / "tree.json").write_text(json.dumps(rows))
    assert openstack.rows(*at, "placement", "tree", "diff", "tree.json") == []
    assert openstack.rows(*at, "placement", "candidate", "list", "--resource", "VCPU=1")
    assert openstack.refusal(*at, "placement", "tree", "apply", "tree.json") == (
        f"applying a tree needs placement 2.0; {limited}"
    )
    for command, feature in NEED_2_0.items():
        assert openstack.refusal(*at, "placement", *command.split()) == (
            f"{feature} needs placement 2.0; {limited}"
        )


def test_a_version_that_is_too_old_is_refused(openstack: Openstack, endpoint: str) -> None:
    at = ("--os-placement-api-version", "1.20")
    assert openstack.refusal(*at, "placement", "tree", "show", "compute-1") == (
        "placement 1.20 is too old for this command, which needs 1.36 or later: see "
        "--os-placement-api-version"
    )


@pytest.mark.parametrize(
    ("arguments", "code", "complaint"),
    [
        ("candidate list --requird X", 2, "arguments: --requird X; did you mean --required?"),
        (f"candidate list --request {__file__}", 1, "not valid YAML: "),
        ("consumer list --user x", 2, "consumer list: --user and --spread-group need --project"),
        ("tree show x --os-endpoint http://127.0.0.1:1", 1, "check the URL, and that the service"),
    ],
)
def test_a_mistake_is_named_with_what_to_do(
    openstack: Openstack, endpoint: str, arguments: str, code: int, complaint: str
) -> None:
    assert openstack.run("placement", *arguments.split()) == (code, "")
    assert complaint in openstack.complaint.splitlines()[-1]


def test_other_commands_import_nothing_of_the_client(tmp_path: Path) -> None:
    code = (
        "import sys, falcon_placement_client.osc.plugin\n"
        "names = [name for name in sys.modules if name.startswith('falcon_placement_client.')]\n"
        "print(*sorted(names))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    imported: set[Any] = set(done.stdout.split())
    assert imported <= {
        f"falcon_placement_client.{name}"
        for name in ("answers", "errors", "identity", "osc", "osc.plugin", "rest")
    }
