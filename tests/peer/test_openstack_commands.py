"""The commands of `openstack` with openstack-placement: most work, others fail in one line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.api.openstack_cloud import Openstack, use_endpoint
from tests.peer.servers import Server

DEMO = Path(__file__).parents[2] / "etc" / "demo-cloud.yaml"
CONSUMER = "5ca1ab1e-0000-4000-8000-00000000000a"
# Command -> what it needs placement 2.0 for.
NEED_2_0 = {
    "candidate explain --resource VCPU=1": "an explanation",
    "change watch": "watch",
    f"claim confirm {CONSUMER}": "a hold",
    "claim create --resource VCPU=1": "a claim in one request",
    f"claim extend {CONSUMER} --expires-in 9": "a hold",
    "claim list": "a list of consumers",
    f"claim release {CONSUMER}": "a hold",
    "consumer list": "a list of consumers",
    f"consumer show {CONSUMER}": "a consumer",
    "headroom show --resource VCPU=1": "headroom",
    "host drain-check compute-a01": "a check of drains",
    "tree apply tree.json": "applying a tree",
}


@pytest.fixture
def openstack(
    server: Server,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> Openstack:
    monkeypatch.chdir(tmp_path)
    use_endpoint(monkeypatch, server.url)
    run = Openstack(capsys)
    assert run.run("placement", "cloud", "load", str(DEMO), "--yes") == (0, ""), run.complaint
    rows = run.rows("placement", "tree", "show", "numa-d01-node1")
    Path("tree.json").write_text(json.dumps(rows))
    return run


def test_most_commands_work(openstack: Openstack) -> None:
    rows = json.loads(Path("tree.json").read_text())
    assert rows[0]["name"] == "numa-d01"
    assert openstack.run("placement", "tree", "draw", "numa-d01")[0] == 0
    assert openstack.rows("placement", "tree", "diff", "tree.json") == []
    rows[0]["traits"] = []
    Path("changed.json").write_text(json.dumps(rows))
    assert len(openstack.rows("placement", "tree", "diff", "changed.json", code=3)) == 1
    listing = ("placement", "candidate", "list", "--resource", "VCPU=1")
    [candidate] = openstack.rows(*listing, "--in-tree", "compute-a01")
    assert (candidate["provider"], candidate["groups"]) == ("compute-a01", [""])
    [row] = openstack.rows("placement", "host", "taint", "compute-a01")
    assert "CUSTOM_MAINTENANCE" in row["traits"]
    [row] = openstack.rows("placement", "host", "untaint", "compute-a01")
    assert "CUSTOM_MAINTENANCE" not in row["traits"]
    assert openstack.run("placement", "cloud", "dump", "cloud.yaml") == (0, "")
    assert openstack.run("placement", "cloud", "load", "cloud.yaml", "--dry-run") == (0, "")


@pytest.mark.parametrize("command", NEED_2_0)
def test_other_commands_fail_in_one_line(openstack: Openstack, command: str) -> None:
    assert openstack.refusal("placement", *command.split()) == (
        f"{NEED_2_0[command]} needs placement 2.0; the service supports 1.39"
    )
