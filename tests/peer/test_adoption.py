"""A database of openstack-placement 16.0.0 is adopted, returned and adopted again.

On the engine that ``PLACEMENT_ENGINE`` names. Both servers return the complete content of each
state.
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import orjson
import pytest

from falcon_placement_client.loader import load_cloud
from placement.config import NIL_UUID
from placement.db.engine import Database
from tests.kit.builders import settings
from tests.kit.engines import empty_database
from tests.kit.rows import assert_nothing_else_changed, contents
from tests.peer import servers
from tests.peer.compare import send
from tests.peer.generator import LATEST, Generator, Request
from tests.peer.reading import disagreements, everything, settled
from tests.peer.servers import REPOSITORY, Server

RANDOM = 250  # requests in each stay with a server
CLAIMS = (
    "resources=VCPU:2,MEMORY_MB:1024,DISK_GB:20",
    "resources=VCPU:1,MEMORY_MB:512",
    "resources1=VCPU:2&required1=HW_NUMA_ROOT&resources2=SRIOV_NET_VF:1&group_policy=none",
    "resources=VGPU:1",
)
# Versions at which the body of a claim has another form.
CLAIM_VERSIONS = (0, 8, 12, 28, 34, 38, LATEST)


def their_url(url: str) -> str:
    """The URL of the same database for the driver that the peer has."""
    return url.replace("postgresql+psycopg:", "postgresql+psycopg2:")


def claim(server: Server, number: int) -> None:
    """Allocate a candidate to a new consumer, in the form of one of the versions."""
    minor = CLAIM_VERSIONS[number % len(CLAIM_VERSIONS)]
    query = f"{CLAIMS[number % len(CLAIMS)]}&limit={10 + number}"
    found = send(server, Request("GET", "/allocation_candidates", LATEST, query))
    allocations = found.body["allocation_requests"][-1]["allocations"]
    body: dict[str, object] = {"allocations": allocations}
    if minor < 12:
        body["allocations"] = [
            {"resource_provider": {"uuid": uuid}, "resources": each["resources"]}
            for uuid, each in allocations.items()
        ]
    if minor >= 8:
        body |= {"project_id": f"project {number % 3}", "user_id": f"user {number % 2}"}
    if minor >= 28:
        body["consumer_generation"] = None
    if minor >= 38:
        body["consumer_type"] = "INSTANCE" if number % 2 else "MIGRATION"
    path = f"/allocations/{consumer(number)}"
    answer = send(server, Request("PUT", path, minor, body=orjson.dumps(body)))
    assert answer.status == 204, answer.raw


def consumer(number: int) -> str:
    """The uuid of one of the consumers that `claim` makes."""
    return f"c1a10000-0000-4000-8000-{number:012d}"


def release(server: Server, number: int) -> None:
    """Delete the allocations of a consumer."""
    answer = send(server, Request("DELETE", f"/allocations/{consumer(number)}", LATEST))
    assert answer.status == 204, answer.raw


def stir(server: Server, seed: int) -> None:
    """Send random requests, most of which succeed."""

    def ask(path: str) -> object:
        answer = send(server, Request("GET", path, LATEST))
        return answer.body if answer.status == 200 else {}

    generator = Generator(seed, 1, ask)
    beginning = generator.beginning()
    for number in range(RANDOM):
        send(server, beginning[number]() if number < len(beginning) else generator.next())


def manage(home: Path, url: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run our `placement-manage`."""
    source = "import sys; from placement.cli import main; sys.exit(main(sys.argv[1:]))"
    return subprocess.run(
        [sys.executable, "-c", source, *arguments],
        cwd=REPOSITORY,
        env=servers.environment(home, url),
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_database_is_adopted_given_back_and_adopted_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    url, theirs = (address := empty_database(tmp_path)), their_url(address)
    home, peer_home = tmp_path / "ours", tmp_path / "peer"
    database = Database(settings(url).database)

    with servers.peer(peer_home, theirs) as peer:
        assert load_cloud(str(REPOSITORY / "etc" / "demo-cloud.yaml"), peer.url, "admin") == 0
        for number in range(40):
            claim(peer, number)
        for number in (3, 17):
            release(peer, number)
        stir(peer, 1)
        told = everything(peer)
        time.sleep(1.1)  # for answers whose time of change is now
        modified = settled(told, everything(peer))

    with database.read() as conn:
        before = contents(conn)
    synced = manage(home, url, "db", "sync")
    assert synced.returncode == 0, synced.stderr
    with database.read() as conn:
        assert_nothing_else_changed(before, contents(conn))
    found = manage(home, url, "db", "check").stdout.strip()

    with servers.ours(home, url, sync=False) as ours:
        first, warts = disagreements(everything(ours), told, modified)
        for number in range(40, 60):
            claim(ours, number)
        for number in (5, 45):
            release(ours, number)
        stir(ours, 2)

    with servers.peer(peer_home, theirs) as peer:
        for number in range(60, 80):
            claim(peer, number)
        for number in (6, 46, 66):
            release(peer, number)
        stir(peer, 3)
        told = everything(peer)
        time.sleep(1.1)
        modified = settled(told, everything(peer))

    drifted = manage(home, url, "db", "check")
    assert drifted.returncode == 1, drifted.stdout
    assert "used: " in drifted.stdout
    synced = manage(home, url, "db", "sync")
    assert synced.returncode == 0, synced.stderr
    with servers.ours(home, url, sync=False) as ours:
        second, more = disagreements(everything(ours), told, modified)

    repaired = manage(home, url, "db", "check", "--repair")
    assert repaired.returncode == 0, repaired.stdout
    database.dispose()
    with capsys.disabled():
        asked = f"{len(told)} GETs, {len(modified)} with a settled Last-Modified"
        print(f"\n{asked}; differences by row: {sorted(warts | more)}; after sync: {found}")
    assert not first, "\n".join(["", *first[:20]])
    assert not second, "\n".join(["", *second[:20]])
    assert NIL_UUID in str(told)


def test_a_database_made_here_can_be_given_away(tmp_path: Path) -> None:
    url, theirs = (address := empty_database(tmp_path)), their_url(address)
    home, peer_home = tmp_path / "ours", tmp_path / "peer"
    assert manage(home, url, "db", "sync").returncode == 0
    with servers.ours(home, url, sync=False) as ours:
        stir(ours, 4)
        told = everything(ours)
        time.sleep(1.1)
        modified = settled(told, everything(ours))
    with servers.peer(peer_home, theirs) as peer:
        # Ours gives times where the peer gives none (W23).
        answers = everything(peer)
        known = {
            each: modified[each] for each in modified if "last-modified" in answers[each].headers
        }
        found, _ = disagreements(told, answers, {})
        later = [each for each in known if answers[each].headers["last-modified"] != known[each]]
        stir(peer, 5)
    assert not found, "\n".join(["", *found[:20]])
    assert not later
    assert manage(home, url, "db", "sync").returncode == 0
    assert manage(home, url, "db", "check", "--repair").returncode == 0
