"""Cloud files from and to openstack-placement."""

from __future__ import annotations

import io
import uuid
from pathlib import Path
from typing import Any

import pytest

from falcon_placement_client.loader import dump_cloud, load_cloud, load_file, preview
from tests.peer.servers import Server, pair

DEMO = Path(__file__).parents[2] / "etc" / "demo-cloud.yaml"


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with pair(tmp_path_factory.mktemp("peer")) as both:
        yield both


def use_demo(path: Path) -> None:
    """Write a file of the demonstration cloud whose first host is over its capacity."""
    host = next(each for each in load_file(DEMO).providers if each.name == "compute-a01")
    text = DEMO.read_text().partition("\nconsumers:\n")[0] + "\nconsumers:\n"
    for number in range(1, 6):
        kind = "  type: INSTANCE\n" if number % 2 else ""
        text += (
            f"- uuid: {uuid.UUID(int=number)}\n{kind}  project: p{number}\n  user: u\n"
            f"  allocations:\n    {host.name}: {{VCPU: 60, MEMORY_MB: 512}}\n"
        )
    path.write_text(text)


@pytest.mark.parametrize("source", ["ours", "peer"])
def test_a_cloud_moves_from_one_to_the_other(
    servers: tuple[Server, Server], source: str, tmp_path: Path
) -> None:
    for server in servers:
        server.empty()
    one, other = servers if source == "ours" else servers[::-1]
    use_demo(tmp_path / "demo.yaml")
    out = io.StringIO()
    assert load_cloud(str(tmp_path / "demo.yaml"), one.url, "admin", out=out) == 0, out.getvalue()
    first, second = tmp_path / "first.yaml", tmp_path / "second.yaml"
    assert dump_cloud(one.url, "admin", path=str(first), out=out) == 0, out.getvalue()
    assert load_cloud(str(first), other.url, "admin", out=out, objection=preview) == 0, (
        out.getvalue()
    )
    assert other.session.get(f"{other.url}/resource_providers", headers=HEADERS).json() == {
        "resource_providers": []
    }
    assert load_cloud(str(first), other.url, "admin", out=out) == 0, out.getvalue()
    assert dump_cloud(other.url, "admin", path=str(second), out=out) == 0, out.getvalue()
    assert second.read_text() == first.read_text()
    assert first.read_text().count("- uuid:") == 5


HEADERS = {"X-Auth-Token": "admin", "OpenStack-API-Version": "placement 1.39"}
