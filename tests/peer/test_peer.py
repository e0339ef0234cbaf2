"""Our responses compared with openstack-placement 16.0.0, request by request.

Run with ``tox -e peer``. ``PLACEMENT_PEER`` names the peer's virtualenv, which is made when it is
not there; ``PLACEMENT_PEER_SEEDS`` (1,2,3,4) and ``PLACEMENT_PEER_REQUESTS`` (5500 a seed) say how
much is compared. An episode starts on empty databases; it ends after its share of requests, or
once an allowed difference may have led the two to different states.
"""

from __future__ import annotations

import os
from collections import Counter
from typing import Any

import pytest
from tqdm import tqdm

from falcon_placement_client.announced import Exchange, explained
from falcon_placement_client.responses import Differences, ServerResponse
from tests.peer.compare import differences, send
from tests.peer.generator import LATEST, Generator, Request
from tests.peer.servers import Server, pair
from tests.peer.warts import WARTS, leaves_orphan

SEEDS = [int(seed) for seed in os.environ.get("PLACEMENT_PEER_SEEDS", "1,2,3,4").split(",")]
REQUESTS = int(os.environ.get("PLACEMENT_PEER_REQUESTS", "5500"))
EPISODE = 150
FAILURES = 20  # shown at the most


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with pair(tmp_path_factory.mktemp("peer")) as both:
        yield both


class Comparison:
    """The result of the comparison for one seed."""

    def __init__(self, servers: tuple[Server, Server]) -> None:
        self.servers = servers
        self.statuses: Counter[str] = Counter()
        self.warts: Counter[str] = Counter()
        self.failures: list[str] = []

    def ask(self, path: str) -> Any:
        """Return the content of this server for the generator."""
        answer = send(self.servers[0], Request("GET", path, LATEST))
        return answer.body if answer.status == 200 else {}

    def same_state(self, request: Request) -> bool:
        """Send a request to both servers. Return whether their states are still equal."""
        ours, peer = (send(server, request) for server in self.servers)
        self.statuses[f"{ours.status // 100}xx"] += 1
        differing = differences(request, ours, peer)
        orphan = leaves_orphan(request, ours)
        if not differing:
            return not orphan
        rows, left = explained(WARTS, Exchange(request, ours, peer), differing)
        self.warts.update(row.name for row in rows)
        if left:
            self.failures.append(_report(self.servers[0].url, request, ours, peer, left))
        refused = ours.status >= 400 and peer.status >= 400
        return not orphan and (request.method == "GET" or refused or "status" not in differing)


def _report(
    url: str, request: Request, ours: ServerResponse, peer: ServerResponse, told: Differences
) -> str:
    lines = [request.curl(url)]
    for name, (one, other) in told.items():
        lines.append(f"  {name}: ours {one!r:.400}, peer {other!r:.400}")
    for name, answer in (("ours", ours), ("peer", peer)):
        lines.append(f"  {name}: {answer.status} {answer.raw[:500]!r}")
    return "\n".join(lines)


@pytest.mark.parametrize("seed", SEEDS)
def test_answers_differ_only_where_the_register_allows(
    servers: tuple[Server, Server], seed: int, capsys: pytest.CaptureFixture[str]
) -> None:
    comparison = Comparison(servers)
    with capsys.disabled(), tqdm(total=REQUESTS, desc=f"seed {seed}", mininterval=5) as progress:
        episode = 0
        while progress.n < REQUESTS and len(comparison.failures) < FAILURES:
            episode += 1
            for server in servers:
                server.empty()
            generator = Generator(seed, episode, comparison.ask)
            beginning = generator.beginning()
            for number in range(EPISODE):
                request = beginning[number]() if number < len(beginning) else generator.next()
                progress.update()
                if not comparison.same_state(request):
                    break
    summary = f"{progress.n} requests, {episode} episodes, {dict(comparison.statuses)}"
    with capsys.disabled():
        print(f"\nseed {seed}: {summary}, differences by row: {dict(comparison.warts)}")
    assert not comparison.failures, "\n\n".join(["", *comparison.failures])
