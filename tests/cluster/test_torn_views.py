"""Views that a database creates slowly, while transactions that wait for each other end.

MariaDB goes through all transactions that have written, also the prepared ones, when it makes a
view of the database; with thousands of these a view is torn often enough to be seen.
`PLACEMENT_TORN` says how many there are, and how many answers are looked at (default 2000,300).
"""

import contextlib
import os
import time
import uuid as uuids
from collections import Counter, defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from threading import Barrier, BrokenBarrierError, Event

import pymysql
import pytest

from placement.db.engine import Database
from placement.entry import app
from tests.cluster.model import Model
from tests.kit.builders import prepare, settings
from tests.kit.engines import ENGINE, MariaDB
from tests.kit.followers import following
from tests.kit.processes import Process, connected, expect, new_host, send, serving
from tests.kit.service import Client, claim, headers_at

pytestmark = pytest.mark.skipif(ENGINE != "mariadb", reason="views of this engine are whole")

PREPARED, ANSWERS = map(int, os.environ.get("PLACEMENT_TORN", "1000,150").split(","))
CHILDREN = 6
WRITERS = 2
READERS = 4
PAUSE = 0.05  # seconds
NUMBERS = count(1)  # of aggregates


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """The URL of a database whose server has many prepared transactions."""
    server = MariaDB()
    server.execute("CREATE DATABASE placement", "CREATE TABLE test_prepared (id INT PRIMARY KEY)")
    for number in range(PREPARED):
        # A prepared transaction outlives its connection.
        where = {"host": "127.0.0.1", "port": server.port, "user": "root", "database": "mysql"}
        with contextlib.closing(pymysql.connect(**where)) as conn:
            cursor = conn.cursor()
            for statement in (
                f"XA START 'x{number}'",
                f"INSERT INTO test_prepared VALUES ({number})",
                f"XA END 'x{number}'",
                f"XA PREPARE 'x{number}'",
            ):
                cursor.execute(statement)
    prepare(server.url("placement"))
    yield server.url("placement")
    server.discard()


class Tree:
    """A tree with children that several clients write to, while others read them."""

    def __init__(self, processes: list[Process]) -> None:
        self.ports = [process.port for process in processes]
        self.root = new_host(self.ports[0], VCPU=100)
        self.children = [new_host(self.ports[0], self.root, VGPU=10**6) for _ in range(CHILDREN)]
        self.page = f"/resource_providers?in_tree={self.root}&limit=99&include=usages,aggregates"
        self.candidates = f"/allocation_candidates?resources=VGPU:1&in_tree={self.root}"
        self.candidates += f"&member_of=!{uuids.uuid4()}"
        self.stop = Event()
        self.together = Barrier(CHILDREN)
        # The generation that a write has stated -> the aggregates that it has written.
        self.acknowledged: dict[int, list[str]] = {}
        # Tag -> text of an answer -> how many have it.
        self.contents: dict[str, Counter[bytes]] = defaultdict(Counter)

    def claim(self, number: int) -> None:
        """Claim from one child, again and again, at the same moment as the other clients.

        The claims wait for each other. During the pause afterwards, the last revision is read
        often.
        """
        port = self.ports[number % len(self.ports)]
        body = claim({self.children[number]: {"VGPU": 1}})
        while not self.stop.is_set():
            with contextlib.suppress(BrokenBarrierError):
                self.together.wait()
            expect(send(port, "PUT", f"/allocations/{uuids.uuid4()}", body), 204)
            time.sleep(PAUSE)
        self.together.abort()

    def write(self, number: int) -> None:
        """Repeatedly add an aggregate to a child, to which another client also writes."""
        port = self.ports[number % len(self.ports)]
        path = f"/resource_providers/{self.children[0]}/aggregates"
        while not self.stop.is_set():
            body = send(port, "GET", path).body
            # They come in the order of their names, so the last ones are the latest.
            body["aggregates"] = [*body["aggregates"][-20:], str(uuids.UUID(int=next(NUMBERS)))]
            answer = send(port, "PUT", path, body)
            assert answer.status in (200, 409), answer
            if answer.status == 200:
                generation = body["resource_provider_generation"]
                self.acknowledged[generation] = body["aggregates"]

    def read(self, number: int) -> None:
        """Collect the content of responses by their tags."""
        port = self.ports[number % len(self.ports)]
        headers = {**headers_at("2.0"), "Connection": "close"}
        for _ in range(ANSWERS // READERS):
            with connected(port) as connection:
                connection.request("GET", self.page, None, headers)
                answer = connection.getresponse()
                text = answer.read()
            assert answer.status == 200, text
            if answer.headers["ETag"]:
                self.contents[answer.headers["ETag"]][text] += 1

    def torn(self) -> int:
        """Return the number of responses that differ from most responses with the same tag."""
        return sum(sum(texts.values()) - max(texts.values()) for texts in self.contents.values())

    def passed_over(self) -> int:
        """The number of writes that the next write, with their generation, was not based on."""
        return sum(
            aggregates[-1] not in self.acknowledged[generation + 1]
            for generation, aggregates in self.acknowledged.items()
            if generation + 1 in self.acknowledged
        )


def test_answers_have_the_content_of_their_tags_and_no_write_is_passed_over(
    url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with serving(tmp_path, [url] * 2) as processes:
        tree = Tree(processes)
        with ThreadPoolExecutor(CHILDREN + WRITERS + READERS) as pool:
            writers = [pool.submit(tree.claim, number) for number in range(CHILDREN)]
            writers += [pool.submit(tree.write, number) for number in range(WRITERS)]
            readers = [pool.submit(tree.read, number) for number in range(READERS)]
            try:
                for reader in readers:
                    reader.result()
            finally:
                tree.stop.set()
            for writer in writers:
                writer.result()
        written = len(tree.acknowledged)
        tagged = sum(texts.total() for texts in tree.contents.values())
        with capsys.disabled():
            print(
                f"\n{PREPARED} prepared transactions: {tree.torn()} torn of {tagged} answers with"
                f" {len(tree.contents)} tags; {tree.passed_over()} of {written} writes passed over"
            )
        assert written
        assert tree.contents
        assert not tree.torn()
        assert not tree.passed_over()
        # What the processes keep is true.
        made = settings(url)
        database = Database(made.database)
        truth = Client(app.create_app(made, database))
        for path, version in ((tree.page, "2.0"), ("/resource_providers", "1.39")):
            for process in processes:
                shown = expect(send(process.port, "GET", path, version=version), 200).body
                assert shown == truth.get(path, version)
        for process in processes:
            shown = expect(send(process.port, "GET", tree.candidates), 200).body
            assert shown["provider_summaries"] == truth.get(tree.candidates)["provider_summaries"]
        database.dispose()


def test_followers_have_what_a_fresh_list_shows(url: str, tmp_path: Path) -> None:
    with serving(tmp_path, [url] * 2) as processes:
        ports = [process.port for process in processes]
        model = Model(ports, seed=5)
        with following(ports, seed=5) as followers:
            model.run(ANSWERS)
        assert all(follower.counts["changes"] for follower in followers)
