"""How many connections a service opens with the options that kolla-ansible sets, and when."""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from threading import Event

import pytest
import sqlalchemy as sa

from placement.db.dialects import dialect_of_url
from placement.db.statement import Write
from tests.kit.builders import database_url
from tests.kit.drivers import failure, losing_commit
from tests.kit.engines import ENGINE, FAMILY
from tests.kit.pooler import pooled
from tests.kit.service import Service, claim, inventories

KOLLA = {
    "max_pool_size": 1,
    "max_overflow": 1000,
    "connection_recycle_time": 10,
    "max_retries": -1,
}
THREADS = 8
REQUESTS = 50  # of each thread
PATIENCE = 60  # seconds to wait for another thread
HOST = "c0ffee00-0000-4000-8000-000000000000"


def count_connections(service: Service) -> list[str]:
    """Return a list to which each new connection adds the name of its pool."""
    opened: list[str] = []

    def watch(engine: sa.Engine) -> None:
        @sa.event.listens_for(engine, "connect")
        def connected(*_connection: object) -> None:
            opened.append(str(engine.logging_name))

    for engine in (service.database.reader, service.database.writer):
        watch(engine)
    return opened


def create_host(service: Service) -> None:
    service.expect(200, "POST", "/resource_providers", {"name": "host", "uuid": HOST})
    totals = inventories(0, VCPU=10_000)
    service.expect(200, "PUT", f"/resource_providers/{HOST}/inventories", totals)


def send_requests(service: Service) -> int:
    """Read, search and claim in several threads at once. Return how often a pool renews."""
    begin = time.monotonic()

    def work(thread: int) -> None:
        for number in range(REQUESTS // 2):
            service.get("/allocation_candidates?resources=VCPU:1&limit=10")
            consumer = f"{thread:08}-0000-4000-8000-{number:012}"
            service.expect(204, "PUT", f"/allocations/{consumer}", claim({HOST: {"VCPU": 1}}))

    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(work, range(THREADS)))
    return int((time.monotonic() - begin) // KOLLA["connection_recycle_time"])


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    with Service(tmp_path, placement_database=KOLLA) as made:
        create_host(made)
        made.database.dispose()
        yield made


def test_a_thread_opens_one_connection_in_each_pool(service: Service) -> None:
    opened = count_connections(service)
    renewals = send_requests(service)
    for pool in ("read", "write"):
        assert 0 < opened.count(pool) <= THREADS * (1 + renewals)


@pytest.mark.skipif(ENGINE == "sqlite", reason="there is no server")
def test_behind_a_proxy_a_thread_opens_one_connection_in_each_pool(tmp_path: Path) -> None:
    url, pooler = pooled(database_url(tmp_path), seed=1)
    options = {**KOLLA, f"{FAMILY}_prepared_statements": False}
    with closing(pooler), Service(tmp_path, url=url, placement_database=options) as service:
        create_host(service)
        before = pooler.clients
        renewals = send_requests(service)
        assert pooler.clients - before <= 2 * THREADS * (1 + renewals)
        service.check_used()


def test_of_several_idle_connections_the_latest_is_used(service: Service) -> None:
    reader = service.database.reader
    with reader.connect() as first, reader.connect() as second:
        connections = [first.connection.dbapi_connection, second.connection.dbapi_connection]
    with reader.connect() as conn:  # the second connection was returned before the first one
        assert conn.connection.dbapi_connection is connections[0]


def test_a_connection_is_renewed_once_when_it_is_too_old(tmp_path: Path) -> None:
    options = {**KOLLA, "connection_recycle_time": 1}
    with Service(tmp_path, placement_database=options) as service:
        service.get("/traits")
        opened = count_connections(service)
        time.sleep(1.1)
        service.get("/traits")
        assert opened == ["read"]


def refuse_a_write(service: Service, before_next: Callable[[], None] = lambda: None) -> None:
    """Have the server refuse one INSERT as read-only.  before_next: called at later ones."""
    (code, *_) = dialect_of_url(service.database.writer.url).errors.read_only
    failures = [failure(code)]

    @sa.event.listens_for(service.database.writer, "do_execute")
    def execute(_cursor: object, statement: str, *_rest: object) -> None:
        if "INSERT" in statement:
            if failures:
                raise failures.pop()
            before_next()


def connect_reader(service: Service) -> None:
    with service.database.reader.connect():
        pass


@pytest.mark.skipif(ENGINE == "sqlite", reason="a file has no other server")
def test_reads_use_new_connections_after_a_server_has_refused_a_write(service: Service) -> None:
    service.get("/traits")
    service.expect(201, "PUT", "/traits/CUSTOM_BEFORE")
    opened = count_connections(service)
    refuse_a_write(service)
    service.expect(201, "PUT", "/traits/CUSTOM_AFTER")
    service.get("/traits")
    service.get("/traits")
    assert sorted(opened) == ["read", "write"]


@pytest.mark.skipif(ENGINE == "sqlite", reason="a file has no other server")
def test_reads_leave_a_former_primary_to_which_they_connected_during_a_failover(
    service: Service,
) -> None:
    service.expect(201, "PUT", "/traits/CUSTOM_BEFORE")
    opened = count_connections(service)

    refuse_a_write(service, before_next=lambda: connect_reader(service))
    service.expect(201, "PUT", "/traits/CUSTOM_AFTER")
    assert sorted(opened) == ["read", "write"]
    service.get("/traits")
    assert sorted(opened) == ["read", "read", "write"]


@pytest.mark.skipif(ENGINE == "sqlite", reason="a file has no other server")
def test_a_write_that_began_before_a_refusal_does_not_confirm_the_primary(
    service: Service,
) -> None:
    """The former primary may have committed it."""
    began, refused = Event(), Event()

    def wait(conn: sa.Connection) -> None:
        began.set()
        assert refused.wait(PATIENCE)
        Write(sa.text("UPDATE resource_classes SET id = id WHERE id = 0"), matches=1).execute(conn)

    with ThreadPoolExecutor(1) as pool:
        early = pool.submit(service.database.write, wait)
        assert began.wait(PATIENCE)

        def end_early() -> None:
            refused.set()
            early.result()
            connect_reader(service)

        refuse_a_write(service, before_next=end_early)
        service.expect(201, "PUT", "/traits/CUSTOM_AFTER")
    opened = count_connections(service)
    service.get("/traits")
    assert opened == ["read"]


@pytest.mark.skipif(ENGINE == "sqlite", reason="a file has no other server")
def test_a_transaction_without_a_write_does_not_confirm_the_primary(service: Service) -> None:
    """A server that is read-only commits it as well."""

    service.expect(201, "PUT", "/traits/CUSTOM_BEFORE")

    def read() -> None:
        service.expect(204, "PUT", "/traits/CUSTOM_BEFORE")
        connect_reader(service)

    refuse_a_write(service, before_next=read)
    service.expect(201, "PUT", "/traits/CUSTOM_AFTER")
    opened = count_connections(service)
    service.get("/traits")
    assert opened == ["read"]


@pytest.mark.skipif(ENGINE == "sqlite", reason="a file has no other server")
def test_reads_leave_a_former_primary_that_has_refused_a_dry_run(service: Service) -> None:
    refuse_a_write(service)
    body = {"name": "another"}
    service.expect(200, "POST", "/resource_providers?dry_run=true", body, version="2.0")
    connect_reader(service)
    service.expect(201, "PUT", "/traits/CUSTOM_AFTER")
    opened = count_connections(service)
    service.get("/traits")
    assert opened == ["read"]


@pytest.mark.skipif(ENGINE == "sqlite", reason="a file has no other server")
def test_reads_leave_a_former_primary_after_a_lost_commit_that_took_effect(
    service: Service,
) -> None:
    errors = dialect_of_url(service.database.writer.url).errors
    code = max(errors.reconnect - errors.not_committed - errors.read_only, key=str)
    refuse_a_write(service, before_next=lambda: connect_reader(service))
    with losing_commit(service.database.writer, code, happens=True):
        service.expect(200, "POST", "/resource_providers", {"name": "another"})
    opened = count_connections(service)
    service.get("/traits")
    assert opened == ["read"]
