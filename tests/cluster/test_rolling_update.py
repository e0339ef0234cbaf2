"""Two releases on one database under load, with a migration between them.

The next one is a copy of this tree with one revision more. `PLACEMENT_UPDATES` says how often it is
rolled out and back (default 1). `PLACEMENT_OLDER` names a commit: this tree is rolled out over that
one, too, and back (`make update`).
"""

from __future__ import annotations

import collections
import os
import random
import shutil
import subprocess
import sys
import threading
import time
import uuid as uuids
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
import sqlalchemy as sa

from placement.db import schema
from tests.cluster.model import complaints
from tests.kit.builders import database_url
from tests.kit.cloud import building, provider_uuid
from tests.kit.engines import ENGINE, empty_database
from tests.kit.followers import following
from tests.kit.processes import ANSWER, REPOSITORY, NoAnswerError, Process, new_host, send
from tests.kit.service import claim

OLDER = os.environ.get("PLACEMENT_OLDER", "")
UPDATES = int(os.environ.get("PLACEMENT_UPDATES", "1"))
CLIENTS = 4
HOSTS = 40
ROOM = 10_000
PAUSE = 0.1  # seconds between two rounds of a client: this is about faults, not about speed
FOLLOWERS_PAUSE = 0.2  # seconds: changes are numbered once a second
BETWEEN = 20  # acknowledged claims between two steps of an update

NEWEST = schema.newest()
NEXT = f"{int(NEWEST[:4]) + 1:04}_since_0003"
REVISION = f'''
"""What a later release may bring: a column with an index, and a table."""

import sqlalchemy as sa
from alembic import op

revision = "{NEXT}"
down_revision = "{NEWEST}"
branch_labels = None
depends_on = None


def lacking(inspector):
    names = {{column["name"] for column in inspector.get_columns("inventories")}}
    missing = [] if "note" in names else ["inventories.note"]
    indexes = {{index["name"] for index in inspector.get_indexes("inventories")}}
    missing += [] if "inventories_note_idx" in indexes else ["inventories_note_idx"]
    return missing + ([] if inspector.has_table("notes") else ["notes"])


def upgrade():
    missing = lacking(sa.inspect(op.get_bind()))
    if "inventories.note" in missing:
        op.add_column("inventories", sa.Column("note", sa.Integer))
    if "inventories_note_idx" in missing:
        op.create_index("inventories_note_idx", "inventories", ["note"])
    if "notes" in missing:
        op.create_table("notes", sa.Column("id", sa.Integer, primary_key=True))
'''


def next_release(directory: Path) -> Path:
    """Create a source tree that needs one more revision. Return its path."""
    code = directory / "next"
    ignored = shutil.ignore_patterns("__pycache__")
    for part in ("placement", "etc"):
        shutil.copytree(REPOSITORY / part, code / part, ignore=ignored)
    # As in a wheel, because an editable installation has only the scripts of this tree.
    migrations = code / "placement" / "migrations"
    shutil.copytree(REPOSITORY / "migrations", migrations, ignore=ignored)
    (migrations / "versions" / f"{NEXT}_notes.py").write_text(REVISION)
    tables = code / "placement/db/tables.py"
    before = '    sa.Column("capacity", sa.BigInteger, nullable=False, server_default="0"),\n'
    text = tables.read_text()
    assert before in text
    tables.write_text(text.replace(before, f'{before}    sa.Column("note", sa.Integer),\n'))
    return code


def older_release(directory: Path, commit: str) -> Path:
    """Create a source tree of a commit. Return its path."""
    code = directory / "older"
    code.mkdir()
    command = ["git", "archive", commit, "placement", "etc"]
    moved = subprocess.run(
        ["git", "ls-tree", "--name-only", commit, "migrations"],
        cwd=REPOSITORY, capture_output=True, text=True, check=True,
    ).stdout.split()  # fmt: skip
    packed = subprocess.run([*command, *moved], cwd=REPOSITORY, capture_output=True, check=True)
    subprocess.run(["tar", "-x"], cwd=code, input=packed.stdout, check=True)
    for name in moved:
        # As in a wheel, because an editable installation has only the scripts of this tree.
        (code / name).rename(code / "placement" / name)
    return code


def sync(code: Path, url: str) -> str:
    """Run `placement-manage db sync` of a release. Return its output."""
    source = "import sys; from placement.cli import main; sys.exit(main(['db', 'sync']))"
    done = subprocess.run(
        [sys.executable, "-c", source],
        cwd=code,
        env={**os.environ, "OS_PLACEMENT_DATABASE__CONNECTION": url},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


class Load:
    """Clients that search, claim and release through any available process.

    As a proxy does, they go to another process where a connection is refused, and nowhere else.
    """

    def __init__(self, hosts: list[str]) -> None:
        self.ports: list[int] = []
        self.counts: collections.Counter[str] = collections.Counter()
        self.held: set[str] = set()  # consumers whose claim was acknowledged
        self.released: set[str] = set()  # consumers whose deletion was acknowledged, too
        self.unknown: set[str] = set()  # consumers with a request of unknown outcome
        self.lost: list[str] = []
        self._hosts = hosts
        self._over = False

    def _send(self, method: str, path: str, body: object = None, version: str = "") -> int:
        while True:
            port = random.choice(self.ports)
            try:
                status = send(port, method, path, body, version).status
            except NoAnswerError as error:
                if isinstance(error.__cause__, ConnectionRefusedError):
                    continue
                self.lost.append(str(error))
                return 0
            self.counts[f"{method} {status}"] += 1
            return status

    def _act(self) -> None:
        mine: list[str] = []
        while not self._over:
            time.sleep(PAUSE)
            consumer = str(uuids.uuid4())
            self._send("GET", "/allocation_candidates?resources=VCPU:1&limit=10")
            if random.random() < 0.5:
                body = claim({random.choice(self._hosts): {"VCPU": 1}})
                status = self._send("PUT", f"/allocations/{consumer}", body)
            else:
                asked = {
                    "request": {"groups": {"": {"resources": {"VCPU": 1}}}},
                    "consumer_uuid": consumer,
                    "consumer_type": "INSTANCE",
                    "project_id": "project",
                    "user_id": "user",
                }
                status = self._send("POST", "/claims", asked, "2.0")
            (self.held if status in {201, 204} else self.unknown).add(consumer)
            mine += [consumer] if consumer in self.held else []
            if len(mine) > 20:
                consumer = mine.pop(random.randrange(len(mine)))
                self.held.discard(consumer)
                gone = self._send("DELETE", f"/allocations/{consumer}") == 204
                (self.released if gone else self.unknown).add(consumer)

    @contextmanager
    def running(self) -> Iterator[None]:
        threads = [threading.Thread(target=self._act) for _ in range(CLIENTS)]
        for thread in threads:
            thread.start()
        try:
            self.go_on()
            yield
        finally:
            self._over = True
            for thread in threads:
                thread.join()

    def go_on(self) -> None:
        """Wait until more claims have been acknowledged."""
        goal = self._acknowledged() + BETWEEN
        deadline = time.monotonic() + ANSWER
        while self._acknowledged() < goal:
            assert time.monotonic() < deadline, self.counts
            time.sleep(0.01)

    def _acknowledged(self) -> int:
        return self.counts["PUT 204"] + self.counts["POST 201"]


class Fleet:
    """Processes of both releases on one database."""

    def __init__(self, directory: Path, url: str, load: Load) -> None:
        self._directory, self._url, self._load = directory, url, load
        self.processes: list[Process] = []
        self._started = 0

    def add(self, code: Path) -> None:
        """Start a process. Clients use it as soon as it responds."""
        self._started += 1
        home = self._directory / f"server-{self._started}"
        process = Process(home, self._url, workers=2, code=str(code))
        self.processes.append(process)
        process.await_answer()
        self._load.ports.append(process.port)

    def remove(self) -> None:
        """Stop the oldest process. As with a proxy, it gets no more requests before."""
        process = self.processes.pop(0)
        self._load.ports.remove(process.port)
        self._load.go_on()
        process.stop()

    def replace(self, number: int, code: Path) -> None:
        """Replace this number of processes with processes of a release, one at a time."""
        for _ in range(number):
            self.add(code)
            self._load.go_on()
            self.remove()
        self._load.go_on()

    def stop(self) -> None:
        for process in self.processes:
            process.stop()


@pytest.fixture
def hosts_and_url(tmp_path: Path) -> tuple[list[str], str]:
    url = database_url(tmp_path)
    with building(sa.create_engine(url, poolclass=sa.NullPool)) as cloud:
        ids = [cloud.add(f"host{number}", {"VCPU": ROOM}) for number in range(HOSTS)]
    return [provider_uuid(row_id) for row_id in ids], url


@pytest.mark.skipif(ENGINE == "sqlite", reason="a file serves one host, which is updated at once")
def test_a_release_is_rolled_out_and_back_under_load_and_nothing_is_lost(
    tmp_path: Path, hosts_and_url: tuple[list[str], str], capsys: pytest.CaptureFixture[str]
) -> None:
    hosts, url = hosts_and_url
    this, later = REPOSITORY, next_release(tmp_path)
    load = Load(hosts)
    fleet = Fleet(tmp_path, url, load)
    with ExitStack() as exits:
        exits.callback(fleet.stop)
        fleet.add(this)
        fleet.add(this)
        followers = exits.enter_context(following(load.ports, seed=1, pause=FOLLOWERS_PAUSE))
        exits.enter_context(load.running())
        for update in range(UPDATES):
            # Expand: the later release's migration, while this one serves and goes on.
            said = sync(later, url)
            assert said.startswith(f"schema: {NEXT}{'' if update else f', was {NEWEST}'}")
            load.go_on()
            # A process of this release that restarts concurrently works.
            fleet.replace(1, this)
            fleet.replace(2, later)
            # And back, as after a release that was not good: its migration stays.
            assert "of a later release, is kept" in sync(this, url)
            load.go_on()
            fleet.replace(2, this)
    with capsys.disabled():
        print(f"\n{ENGINE}: {dict(sorted(load.counts.items()))}, {len(load.held)} held")
    assert load.lost == []
    assert all(follower.counts["changes"] for follower in followers)
    assert {key.split()[1] for key in load.counts} <= {"200", "201", "204", "503"}
    check(url, hosts, load)


@pytest.mark.skipif(ENGINE == "sqlite", reason="a file serves one host, which is updated at once")
@pytest.mark.skipif(not OLDER, reason="PLACEMENT_OLDER names no commit")
def test_this_release_is_rolled_out_over_an_older_one_and_back_and_nothing_is_lost(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    older, this = older_release(tmp_path, OLDER), REPOSITORY
    url = empty_database(tmp_path)
    said = sync(older, url)
    assert ", was none" in said
    migrates = not said.startswith(f"schema: {NEWEST},")
    with ExitStack() as exits:
        with_hosts = Process(tmp_path / "server-0", url, code=str(older))
        exits.callback(with_hosts.stop)
        with_hosts.await_answer()
        hosts = [new_host(with_hosts.port, VCPU=ROOM) for _ in range(HOSTS)]
        load = Load(hosts)
        fleet = Fleet(tmp_path, url, load)
        exits.callback(fleet.stop)
        fleet.add(older)
        fleet.add(older)
        exits.enter_context(load.running())
        for update in range(UPDATES):
            said = sync(this, url)
            assert said.startswith(f"schema: {NEWEST}{', was ' if migrates and not update else ''}")
            load.go_on()
            # A process of the older release that restarts on the new schema works.
            fleet.replace(1, older)
            fleet.replace(2, this)
            assert ("of a later release" in sync(older, url)) == migrates
            load.go_on()
            fleet.replace(2, older)
        # The last word is of this release: it finds the counts of the older one right.
        fleet.replace(2, this)
    with capsys.disabled():
        print(f"\n{ENGINE}: {dict(sorted(load.counts.items()))}, {len(load.held)} held")
    assert load.lost == []
    assert {key.split()[1] for key in load.counts} <= {"200", "201", "204", "503"}
    check(url, hosts, load)


def check(url: str, hosts: list[str], load: Load) -> None:
    """Compare the tables with the responses to the clients."""
    with sa.create_engine(url, poolclass=sa.NullPool).connect() as conn:
        assert not list(complaints(conn, hosts))
        rows = conn.exec_driver_sql("SELECT DISTINCT consumer_id FROM allocations")
        there = set(rows.scalars())
    assert load.held - there == set()
    assert load.released & there == set()
    assert there - load.held - load.unknown == set()


def test_the_next_release_refuses_a_schema_that_was_not_migrated_yet(
    tmp_path: Path, hosts_and_url: tuple[list[str], str]
) -> None:
    process = Process(tmp_path / "server", hosts_and_url[1], code=str(next_release(tmp_path)))
    assert process.ended() != 0
    (line,) = [text for text in process.complaint().splitlines() if "placement-manage" in text]
    assert f"this release needs {NEXT}: run placement-manage db sync" in line
