"""The writes of a transaction as one statement, which fails, is interrupted or is lost."""

import time
import uuid as uuids
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.engine import Connection

from placement.db import compounds, prepared
from placement.db.compounds import CompoundPart
from placement.db.statement import Unmatched, Write, collecting, send
from placement.db.texts import StatementText
from placement.errors import DatabaseUnavailable
from placement.runtime import events
from placement.runtime.events import Details, Event
from tests.kit.builders import database_url
from tests.kit.engines import ENGINE, behind, server
from tests.kit.proxy import Cut
from tests.kit.service import Service, claim, inventories
from tests.kit.statements import counted

pytestmark = pytest.mark.skipif(ENGINE != "mariadb", reason="others execute no compounds")

HOST, CONSUMER = (str(uuids.UUID(int=number)) for number in (1, 2))
PATH = f"/allocations/{CONSUMER}"
PATIENCE = 120  # seconds
WARM = 3  # executions after which a compound is prepared on a connection
NOTHING = StatementText(
    "UPDATE consumer_types SET name = name WHERE 1 = 0", {}, {}, {}, None, prepared=False
)


class Warm(Service):
    """A service on whose connection the compounds of these tests are prepared."""

    def __init__(self, directory: Path, *, url: str = "", **options: object) -> None:
        options = {"max_pool_size": 1, **options}
        super().__init__(directory, url=url, placement_database=options)
        self.expect(200, "POST", "/resource_providers", {"name": "host", "uuid": HOST})
        path = f"/resource_providers/{HOST}/inventories"
        self.expect(200, "PUT", path, inventories(0, VCPU=100))
        for _ in range(WARM):
            self.expect(204, "PUT", PATH, claim({HOST: {"VCPU": 1}}))
            self.expect(204, "PUT", PATH, claim({HOST: {"VCPU": 2}}, generation=1))
            self.expect(204, "DELETE", PATH)

    def used(self) -> dict[str, int]:
        usages = self.expect(200, "GET", f"/resource_providers/{HOST}/usages").json["usages"]
        return dict(usages)


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Warm]:
    with Warm(tmp_path) as made:
        yield made


@pytest.fixture
def retries() -> Iterator[list[str]]:
    """Return the causes for which writes are retried."""
    causes: list[str] = []

    def note(event: Event, details: Details) -> None:
        if event is Event.RETRY:
            causes.append(str(details["cause"]))

    end = events.listen(note)
    yield causes
    end()


def put(service: Service, generation: int | None = None, amount: int = 1) -> int:
    body = claim({HOST: {"VCPU": amount}}, generation=generation)
    return int(service.send("PUT", PATH, body).status_code)


def delete(service: Service) -> int:
    return int(service.send("DELETE", PATH).status_code)


# -- one statement --------------------------------------------------------------------------------


def test_a_write_of_allocations_is_a_read_and_one_statement(service: Warm) -> None:
    for act in (put, delete):
        with counted(service.database, together=True) as seen:
            assert act(service) == 204
        read, compound = seen
        assert read.lstrip("(").startswith("SELECT")
        assert compound.startswith("BEGIN NOT ATOMIC")
        assert "COMMIT" not in compound
    service.check_used()


def test_the_commit_of_a_write_of_a_provider_is_in_the_same_statement(service: Warm) -> None:
    path = f"/resource_providers/{HOST}/inventories"
    for number in range(WARM + 1):
        generation = service.get(path)["resource_provider_generation"]
        with counted(service.database, together=True) as seen:
            service.expect(200, "PUT", path, inventories(generation, VCPU=200 + number))
    assert seen[-1].startswith("BEGIN NOT ATOMIC")
    assert seen[-1].endswith("COMMIT; END")


def test_without_prepared_statements_writes_are_sent_one_by_one(tmp_path: Path) -> None:
    with Warm(tmp_path, mariadb_prepared_statements=False) as service:
        with counted(service.database, together=True) as seen:
            assert put(service) == 204
        assert len(seen) == 5
        assert not any(text.startswith("BEGIN") for text in seen)


def test_a_dry_run_sends_the_writes_and_no_commit(service: Warm) -> None:
    body = claim({HOST: {"VCPU": 1}})
    for _ in range(WARM):
        with counted(service.database, together=True) as seen:
            answer = service.send("PUT", f"{PATH}?dry_run=true", body, "2.0")
        assert answer.status_code < 300, answer.text
    assert seen[1].startswith("BEGIN NOT ATOMIC")
    assert "COMMIT" not in seen[1]
    assert service.used() == {"VCPU": 0}


def test_a_connection_prepares_a_bounded_number_of_compounds(service: Warm) -> None:
    """Requests for many numbers of consumers have as many different compounds."""
    for number in range(1, prepared.MAX_PREPARED + 3):
        consumers = [str(uuids.UUID(int=100 + index)) for index in range(number)]
        for generation in (None, 1, 2):
            amounts = {HOST: {"VCPU": 1}}
            body = {uuid: claim(amounts, generation) for uuid in consumers}
            service.expect(204, "POST", "/allocations", body)
        service.expect(204, "POST", "/allocations", {uuid: claim({}, 3) for uuid in consumers})
    with service.database.writer.connect() as conn:
        calls = conn.info[prepared.OPTION].calls
        assert any(sql.startswith("BEGIN NOT ATOMIC") for sql in calls)
        assert len(calls) == prepared.MAX_PREPARED


# -- statements that fail ------------------------------------------------------------------------


@contextmanager
def skipping(index: int) -> Iterator[list[int]]:
    """Let a statement of the next compound match nothing. Collect the sizes of compounds."""
    sizes: list[int] = []
    prepare = compounds.prepare

    def prepare_without(
        conn: Connection, parts: list[CompoundPart], *, commits: bool
    ) -> str | None:
        if not sizes and index < len(parts):
            parts[index] = parts[index]._replace(text=NOTHING, params={})
        sizes.append(len(parts))
        # Prepared at once.
        for _ in range(2):
            call = prepare(conn, parts, commits=commits)
        return call

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compounds, "prepare", prepare_without)
        yield sizes


@pytest.mark.parametrize("index", range(5))
def test_a_statement_that_matches_nothing_is_noticed_and_the_write_runs_again(
    service: Warm, retries: list[str], index: int
) -> None:
    for act in (put, lambda it: put(it, 1, 2), delete):
        retries.clear()
        with skipping(index) as sizes:
            assert act(service) == 204
        skipped = index < sizes[0]
        assert retries == ["conflict"] * skipped
        assert len(sizes) == 1 + skipped
        service.check_used()
    assert service.used() == {"VCPU": 0}


def test_the_statement_that_matches_another_number_of_rows_is_named(service: Warm) -> None:
    with service.database.writer.connect() as conn:
        for _ in range(WARM):
            with collecting(conn):
                _rename("HOST").execute(conn)
                _rename("HOST").execute(conn)
                send(conn)
        for failure in (None, ZeroDivisionError):
            with collecting(conn):
                _rename("HOST").execute(conn)
                _rename("MISSING").execute(conn, failure)
                with pytest.raises(failure or Unmatched, match="other rows instead of 1: UPDATE"):
                    send(conn)
        for _ in range(WARM):  # more rows than expected
            with collecting(conn):
                _rename("HOST").execute(conn)
                _rename("HOST", matches=0).execute(conn)
                with pytest.raises(Unmatched):
                    send(conn)
        conn.rollback()


_RENAME = sa.text(
    "UPDATE resource_providers SET generation = generation WHERE name = :provider_name"
)


def _rename(name: str, matches: int = 1) -> Write:
    return Write(_RENAME, {"provider_name": name}, matches=matches)


def test_writes_that_are_never_sent_have_no_effect_on_the_next_transaction(service: Warm) -> None:
    def fail(conn: Connection) -> None:
        _rename("MISSING").execute(conn)
        raise DatabaseUnavailable("the work failed")

    for _ in range(WARM):
        with pytest.raises(DatabaseUnavailable):
            service.database.write(fail)
    assert put(service) == 204


def test_a_server_that_is_read_only_has_not_committed(tmp_path: Path) -> None:
    """The outcome is known, although its root cannot be written again."""
    server().execute(
        "CREATE OR REPLACE USER placement@127.0.0.1",
        "GRANT SELECT, INSERT, UPDATE, DELETE ON *.* TO placement@127.0.0.1",
    )
    url = database_url(tmp_path).replace("root@", "placement@")
    with Warm(tmp_path, url=url, write_timeout=1) as service:
        server().execute("SET GLOBAL read_only = ON")  # the administrator himself may still write
        try:
            answer = service.send("PUT", PATH, claim({HOST: {"VCPU": 1}}))
        finally:
            server().execute("SET GLOBAL read_only = OFF")
        assert answer.status_code == 503
        assert "it is unknown whether" not in answer.text
        assert put(service) == 204


# -- interruptions --------------------------------------------------------------------------------

# Statements that lock a row, for which a compound then waits.
PLACES = {
    "consumer": "INSERT INTO consumers (uuid, project_id, user_id, generation)"
    f" SELECT '{CONSUMER}', MIN(p.id), MIN(u.id), 1 FROM projects p, users u",
    "root": "SELECT * FROM resource_providers FOR UPDATE",
    "inventory": "SELECT * FROM inventories FOR UPDATE",
}
EXISTING_CONSUMER = "SELECT * FROM consumers FOR UPDATE"


@contextmanager
def waiting(service: Service, lock: str, act: Callable[[Service], int]) -> Iterator[Any]:
    """Let a write wait in its compound. Return its future, and the id of its connection."""
    url = service.database.writer.url.set(port=server().port)  # not through a proxy
    engine = sa.create_engine(url, poolclass=sa.NullPool)
    with ThreadPoolExecutor(1) as pool, engine.connect() as conn:
        conn.exec_driver_sql(lock)
        with service.database.writer.connect() as pooled:
            number = pooled.exec_driver_sql("SELECT CONNECTION_ID()").scalar_one()
            pooled.rollback()
        answer = pool.submit(act, service)
        wait_until_locked(engine, number)
        yield answer, number
        conn.rollback()


def wait_until_locked(engine: sa.Engine, number: int) -> None:
    deadline = time.monotonic() + PATIENCE
    waits = (
        "SELECT COUNT(*) FROM information_schema.innodb_trx"
        f" WHERE trx_state = 'LOCK WAIT' AND trx_mysql_thread_id = {number}"
    )
    while time.monotonic() < deadline:
        with engine.connect() as conn:
            if conn.exec_driver_sql(waits).scalar_one():
                return
        time.sleep(0.15)  # InnoDB refreshes its view of transactions only after 0.1 s
    raise AssertionError("the write does not wait")


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("how", ["KILL QUERY", "KILL CONNECTION"])
def test_an_interrupted_write_takes_effect_once(
    service: Warm, retries: list[str], place: str, how: str
) -> None:
    with waiting(service, PLACES[place], put) as (answer, number):
        server().execute(f"{how} {number}")
        time.sleep(0.2)
    assert answer.result() == 204
    assert retries
    assert service.used() == {"VCPU": 1}
    service.check_used()
    assert put(service) == 409
    assert delete(service) == 204


@pytest.mark.parametrize("place", PLACES)
def test_an_interrupted_write_is_run_again_while_others_change_its_tree(
    service: Warm, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    """The transaction is still open, so its outcome is known without its revision."""
    monkeypatch.setattr(service.database, "_happened", lambda *_: pytest.fail("not asked"))
    with waiting(service, PLACES[place], put) as (answer, number):
        server().execute(f"KILL QUERY {number}")
        time.sleep(0.2)
    assert answer.result() == 204
    service.check_used()


@pytest.mark.parametrize("place", PLACES)
def test_the_limit_of_time_ends_a_compound(service: Warm, place: str) -> None:
    with service.database.writer.connect() as conn:
        conn.exec_driver_sql("SET SESSION max_statement_time = 0.5")
        conn.rollback()
    with waiting(service, PLACES[place], put) as (answer, _number):
        assert answer.result() == 503
    assert service.used() == {"VCPU": 0}
    assert put(service) == 204
    service.check_used()


# -- lost answers ---------------------------------------------------------------------------------

ACTS: dict[str, Callable[[Service], int]] = {
    "claim": put,
    "change": lambda service: put(service, 1, 2),
    "release": delete,
}


@pytest.mark.parametrize("cut", [Cut.BEFORE_COMMIT, Cut.AFTER_COMMIT])
@pytest.mark.parametrize(("last", "used"), [("claim", 1), ("change", 2), ("release", 0)])
def test_a_compound_whose_answer_is_lost_takes_effect_once(
    tmp_path: Path, cut: Cut, last: str, used: int
) -> None:
    url, proxy = behind(database_url(tmp_path))
    proxy.most = 1
    with Warm(tmp_path, url=url) as service:
        for name, act in ACTS.items():
            proxy.cut = cut if name == last else Cut.NEVER
            assert act(service) == 204
            if name == last:
                break
        assert proxy.cuts == 1
        assert service.used() == {"VCPU": used}
        service.check_used()
    proxy.close()


@pytest.mark.parametrize(
    ("last", "lock", "used"),
    [
        ("claim", PLACES["consumer"], 1),
        ("change", EXISTING_CONSUMER, 2),
        ("release", EXISTING_CONSUMER, 0),
    ],
)
def test_a_compound_that_goes_on_without_its_client_does_not_commit(
    tmp_path: Path, last: str, lock: str, used: int
) -> None:
    """It has not locked its trees yet when the service finds that the write did not happen."""
    url, proxy = behind(database_url(tmp_path))
    with Warm(tmp_path, url=url) as service:
        for name, act in ACTS.items():
            if name == last:
                break
            assert act(service) == 204
        with waiting(service, lock, act) as (answer, _number):
            proxy.sever()
            time.sleep(1)  # the service asks for the outcome, or runs the write again
        assert answer.result() == 204
        assert service.used() == {"VCPU": used}
        service.check_used()
    proxy.close()
