"""When no client writes, the copies of followers are equal to a new list.

`PLACEMENT_FOLLOWERS` says how many rounds of writes there are (default 1), and
`PLACEMENT_FOLLOWERS_SEED` determines the writes (default 3).
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cluster.model import Model
from tests.kit.builders import database_url
from tests.kit.engines import ENGINE, server
from tests.kit.followers import following
from tests.kit.processes import Process, serving

ROUNDS = int(os.environ.get("PLACEMENT_FOLLOWERS", "1"))
SEED = int(os.environ.get("PLACEMENT_FOLLOWERS_SEED", "3"))
OPERATIONS = 40  # of a round; the quiet moment after it takes longer
MORE = 20  # rounds at most until something rare has happened
SHOW = 50  # rounds between two lines of progress
DYING = "tests.cluster.dying:application"


def follow(
    processes: list[Process],
    url: str,
    rounds: int,
    disturb: object = None,
    is_enough: Callable[[], object] = lambda: True,
) -> Counter[str]:
    """Have writers of every kind write, and followers follow; return what these have done."""
    ports = [process.port for process in processes]
    model = Model(ports, seed=SEED)
    counts: Counter[str] = Counter()
    for number in range(rounds + MORE):
        if number >= rounds and is_enough():
            break
        if number and number % SHOW == 0:
            print(f"{ENGINE}: {number} of {rounds} rounds, {dict(counts)}", flush=True)
        with following(ports, seed=SEED + 10 * number) as followers:
            model.run(OPERATIONS, disturb)  # type: ignore[arg-type]
        for follower in followers:
            counts += follower.counts
    model.check(url)
    return counts


def count_deaths(processes: list[Process]) -> int:
    """Return how many workers have killed themselves, at least."""
    return sum(process.complaint().count("SIGKILL") for process in processes)


def test_followers_have_what_a_fresh_list_shows_while_workers_die_in_numberings(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    url = database_url(tmp_path)
    server_processes = serving(tmp_path, [url] * 2, 2, application=DYING, DYING="1")
    with server_processes as processes, capsys.disabled():
        counts = follow(processes, url, ROUNDS, is_enough=lambda: count_deaths(processes))
        deaths = count_deaths(processes)
    with capsys.disabled():
        print(f"\n{ENGINE}: {dict(counts)}, {deaths} or more workers died")
    assert counts["changes"]
    assert deaths


@pytest.mark.skipif(ENGINE == "sqlite", reason="there is no server to kill")
def test_followers_lose_nothing_when_the_database_is_killed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    url = database_url(tmp_path)

    def disturb() -> None:
        time.sleep(1)
        server().kill()
        time.sleep(0.5)
        server().start()
        time.sleep(1)

    with serving(tmp_path, [url] * 2) as processes, capsys.disabled():
        counts = follow(processes, url, ROUNDS, disturb)
    with capsys.disabled():
        print(f"\n{ENGINE}: {dict(counts)}")
    assert counts["changes"]
