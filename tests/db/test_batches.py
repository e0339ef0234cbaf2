"""Writes that are sent to the database in one round trip."""

import threading
import time
import uuid as uuids
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa
from sqlalchemy import exc
from sqlalchemy.engine import Connection

from placement.db import prepared, texts
from placement.db import tables as t
from placement.db.engine import Database
from placement.db.statement import Unmatched, Write, Writes
from placement.errors import LostRace
from tests.kit.builders import make_database
from tests.kit.engines import ENGINE, MYSQL_DRIVER
from tests.kit.service import Service, claim, inventories

pytestmark = [
    pytest.mark.skipif(ENGINE == "sqlite", reason="SQLite has no round trips"),
    pytest.mark.skipif(MYSQL_DRIVER == "mysqldb", reason="mysqlclient has no batches"),
]

HOST = str(uuids.UUID(int=1))
CLAIMS = 300
if ENGINE == "postgresql":
    OWN_NUMBER = "SELECT pg_backend_pid()"
    INTERRUPT, DISCONNECT = "SELECT pg_cancel_backend({})", "SELECT pg_terminate_backend({})"
    OTHERS = "SELECT pid FROM pg_stat_activity WHERE query LIKE '%allocations%'"
else:
    OWN_NUMBER = "SELECT CONNECTION_ID()"
    INTERRUPT, DISCONNECT = "KILL QUERY {}", "KILL CONNECTION {}"
    OTHERS = "SELECT id FROM information_schema.processlist WHERE info LIKE '%allocations%'"

_name = t.traits.c.name
ADD = sa.text("INSERT INTO traits (name) VALUES (:first), (:second)")
RENAME = sa.update(t.traits).where(_name == sa.bindparam("old")).values(name=sa.bindparam("new"))
REMOVE = sa.delete(t.traits).where(_name.in_(sa.bindparam("names", expanding=True)))


def add(*names: str) -> Write:
    first, second = names
    return Write(ADD, {"first": first, "second": second}, matches=2)


def rename(old: str, new: str) -> Write:
    return Write(RENAME, {"old": old, "new": new}, matches=1)


def remove(*names: str) -> Write:
    return Write(REMOVE, {"names": names}, matches=len(names))


def names(database: Database) -> set[str]:
    with database.read() as conn:
        found = sa.select(_name).where(_name.like("CUSTOM%"))
        return set(conn.execute(found).scalars())


@pytest.fixture
def database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Database]:
    """A database on which each of the statements has been executed, so it has a text.

    `SENT` counts the statements of batches.
    """
    send_batch = texts.write_batch

    def counted(conn: Connection, batch: list[object]) -> object:
        SENT["statements"] += len(batch)
        return send_batch(conn, batch)  # type: ignore[arg-type]

    monkeypatch.setattr(texts, "write_batch", counted)
    made = make_database(tmp_path)[1]
    made.write(Writes((add("CUSTOM_A", "CUSTOM_B"), rename("CUSTOM_A", "CUSTOM_C"))).execute)
    made.write(Writes((remove("CUSTOM_B", "CUSTOM_C"),)).execute)
    SENT.clear()
    yield made
    made.dispose()


SENT: Counter[str] = Counter()


def test_all_writes_of_a_batch_are_executed_in_order(database: Database) -> None:
    for _ in range(3):  # the third time as prepared statements, on MariaDB
        writes = (
            add("CUSTOM_A", "CUSTOM_B'%s"),
            rename("CUSTOM_A", "CUSTOM_;"),
            rename("CUSTOM_;", "CUSTOM_\\"),
            remove("CUSTOM_B'%s", "CUSTOM_\\"),
            add("CUSTOM_E", "CUSTOM_F"),
        )
        database.write(Writes(writes).execute)
        assert names(database) == {"CUSTOM_E", "CUSTOM_F"}
        database.write(remove("CUSTOM_E", "CUSTOM_F").execute)
    assert SENT["statements"] == 15


@pytest.mark.parametrize("at", range(3))
def test_the_write_that_does_not_match_is_named_and_nothing_is_written(
    database: Database, at: int
) -> None:
    writes = [add("CUSTOM_A", "CUSTOM_B"), add("CUSTOM_C", "CUSTOM_D")]
    writes.insert(at, rename("CUSTOM_NONE", "CUSTOM_OTHER"))
    seen: list[Unmatched] = []

    def work(conn: Connection) -> None:
        try:
            Writes(writes).execute(conn)
        except Unmatched as unmatched:
            seen.append(unmatched)
            raise ValueError from unmatched

    with pytest.raises(ValueError):  # noqa: PT011
        database.write(work)
    assert [unmatched.write for unmatched in seen] == [writes[at]]
    assert SENT["statements"] == 3
    assert names(database) == set()


@pytest.mark.parametrize("at", range(3))
def test_after_an_error_the_connection_can_be_used_and_nothing_is_written(
    database: Database, at: int
) -> None:
    writes = [add("CUSTOM_A", "CUSTOM_B"), rename("CUSTOM_A", "CUSTOM_C")]
    writes.insert(at, add("CUSTOM_D", "CUSTOM_D"))
    with pytest.raises(LostRace):  # after all retries
        database.write(Writes(writes).execute)
    assert SENT["statements"] > 3
    assert names(database) == set()
    database.write(Writes((add("CUSTOM_A", "CUSTOM_B"), rename("CUSTOM_A", "CUSTOM_C"))).execute)
    assert names(database) == {"CUSTOM_B", "CUSTOM_C"}


def test_a_list_of_statements_of_which_one_is_new_is_sent_one_by_one(database: Database) -> None:
    new = Write(sa.text("INSERT INTO traits (name) VALUES (:name)"), {"name": "A"}, matches=1)
    database.write(Writes((add("CUSTOM_A", "CUSTOM_B"), new)).execute)
    assert not SENT
    assert names(database) == {"CUSTOM_A", "CUSTOM_B"}


@pytest.mark.skipif(ENGINE != "mariadb", reason="others prepare nothing this way")
def test_a_batch_of_which_a_prepared_statement_is_lost_starts_again(database: Database) -> None:
    """Simulates a proxy that sends each transaction over another connection."""
    long = remove("CUSTOM_A", "CUSTOM_B")  # long enough to be prepared
    for _ in range(3):
        database.write(Writes((add("CUSTOM_A", "CUSTOM_B"), long)).execute)
    with database.writer.connect() as conn:
        (call,) = prepared.texts_of(conn).calls.values()
        conn.exec_driver_sql(f"DEALLOCATE PREPARE {call.split()[1]}")
    writes = (add("CUSTOM_A", "CUSTOM_B"), long, add("CUSTOM_C", "CUSTOM_D"))
    database.write(Writes(writes).execute)
    assert names(database) == {"CUSTOM_C", "CUSTOM_D"}
    with database.writer.connect() as conn:
        assert not prepared.texts_of(conn).calls


def test_a_batch_whose_connection_is_lost_is_sent_again(database: Database) -> None:
    batch = Writes((add("CUSTOM_B", "CUSTOM_C"), rename("CUSTOM_A", "CUSTOM_D")))
    other = sa.create_engine(database.writer.url)
    with other.begin() as holder:
        holder.execute(sa.text("INSERT INTO traits (name) VALUES ('CUSTOM_A')"))
    numbers: list[int] = []

    def work(conn: Connection) -> None:
        numbers.append(conn.exec_driver_sql(OWN_NUMBER).scalar_one())
        batch.execute(conn)

    with other.connect() as holder, other.connect() as killer:
        holder.execute(RENAME, {"old": "CUSTOM_A", "new": "CUSTOM_E"})  # the batch waits for it
        writing = threading.Thread(target=database.write, args=(work,))
        writing.start()
        while not numbers:
            time.sleep(0.01)
        time.sleep(0.2)
        assert SENT["statements"] == 2
        killer.exec_driver_sql(DISCONNECT.format(numbers[0]))
        while len(numbers) < 2:
            time.sleep(0.01)
        holder.rollback()
        writing.join()
    other.dispose()
    assert names(database) == {"CUSTOM_B", "CUSTOM_C", "CUSTOM_D"}
    assert len(numbers) == len(set(numbers)) == 2


def test_claims_are_the_same_with_and_without_batches(tmp_path: Path) -> None:
    answers = []
    for option in (True, False):
        options = {"batch_writes": option}
        with Service(tmp_path / str(option), placement_database=options) as service:
            answers.append(list(claims(service)))
            service.check_used()
    assert answers[0] == answers[1]


def claims(service: Service) -> Iterator[object]:
    service.expect(200, "POST", "/resource_providers", {"name": "host", "uuid": HOST})
    path = f"/resource_providers/{HOST}"
    service.expect(200, "PUT", f"{path}/inventories", inventories(0, VCPU=4))
    for number in range(8):
        consumer = f"/allocations/{uuids.UUID(int=9 + number % 6)}"
        answer = service.send("PUT", consumer, claim({HOST: {"VCPU": 1}}))
        yield answer.status_code
        yield service.get(consumer)
        yield service.get(path)["generation"]
    for number in range(3):
        answer = service.send("DELETE", f"/allocations/{uuids.UUID(int=9 + number)}")
        yield answer.status_code
        yield service.get(f"{path}/usages")


def test_claims_whose_statements_are_interrupted_are_whole_or_absent(tmp_path: Path) -> None:
    """An interruption may hit any statement of a batch, or the time between two of them."""
    with Service(tmp_path, placement_database={"write_timeout": 30}) as service:
        service.expect(200, "POST", "/resource_providers", {"name": "host", "uuid": HOST})
        path = f"/resource_providers/{HOST}"
        service.expect(200, "PUT", f"{path}/inventories", inventories(0, VCPU=2 * CLAIMS))
        ended = threading.Event()
        interrupting = threading.Thread(target=interrupt, args=(service.database, ended))
        interrupting.start()
        outcomes: Counter[int] = Counter()
        for number in range(CLAIMS):
            consumer = str(uuids.UUID(int=1000 + number))
            answer = service.send("PUT", f"/allocations/{consumer}", claim({HOST: {"VCPU": 1}}))
            outcomes[answer.status_code] += 1
        ended.set()
        interrupting.join()
        assert set(outcomes) <= {204, 409, 503}
        assert outcomes[204] > CLAIMS // 2
        used = service.get(f"{path}/usages")["usages"]["VCPU"]
        assert used == len(service.get(f"{path}/allocations")["allocations"])
        assert used >= outcomes[204]
        service.check_used()


def interrupt(database: Database, ended: threading.Event) -> None:
    """Interrupt the statements of other connections until `ended` is set."""
    engine = sa.create_engine(database.writer.url, isolation_level="AUTOCOMMIT")
    with engine.connect() as conn:
        mine = conn.exec_driver_sql(OWN_NUMBER).scalar_one()
        while not ended.wait(0.003):
            for other in conn.execute(sa.text(OTHERS)).scalars().all():
                if other == mine:
                    continue
                try:
                    conn.exec_driver_sql(INTERRUPT.format(other))
                except exc.DBAPIError:
                    conn.rollback()  # the connection has just been closed
    engine.dispose()
