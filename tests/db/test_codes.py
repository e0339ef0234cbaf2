"""Handling of each error code of an engine's driver, with simulated errors.

The codes of all engines are listed. The tests simulate the codes of their engine.
"""

import uuid as uuids
from collections.abc import Iterator, Mapping
from enum import Enum
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from placement.db import codes
from tests.kit.drivers import failing_once, losing_commit
from tests.kit.engines import FAMILY
from tests.kit.service import Service, inventories


class Then(Enum):
    """The expected outcome of a request after one of its statements has failed."""

    AGAIN = "it is run again and done"
    ELSEWHERE = "it is run again on another connection and done"
    UNAVAILABLE = "it is answered with 503"
    REFUSED = "it is answered with 400"
    TOO_LONG = "it is answered with 503, and not to be sent again"


STATEMENTS: Mapping[str, Mapping[object, Then]] = {
    "sqlite": {
        "SQLITE_BUSY": Then.AGAIN,
        "SQLITE_BUSY_RECOVERY": Then.AGAIN,  # another process mends the log of one that died
        "SQLITE_BUSY_SNAPSHOT": Then.AGAIN,
        "SQLITE_LOCKED": Then.AGAIN,
        "SQLITE_PROTOCOL": Then.AGAIN,  # a race for the locks of the log
        "SQLITE_CONSTRAINT_UNIQUE": Then.AGAIN,
        "SQLITE_CONSTRAINT_PRIMARYKEY": Then.AGAIN,
        "SQLITE_INTERRUPT": Then.TOO_LONG,
        "SQLITE_FULL": Then.UNAVAILABLE,
        "SQLITE_IOERR_WRITE": Then.UNAVAILABLE,
    },
    "mariadb": {
        1020: Then.AGAIN,  # a snapshot that is too old, where snapshots are isolated
        1062: Then.AGAIN,  # a unique key is taken
        1180: Then.AGAIN,
        1205: Then.AGAIN,  # waited too long for a lock
        1213: Then.AGAIN,  # deadlock, or a conflict on Galera
        1317: Then.AGAIN,  # interrupted
        1412: Then.AGAIN,  # the table has changed
        1047: Then.ELSEWHERE,  # outside of the quorum
        1053: Then.ELSEWHERE,  # shutdown
        1290: Then.ELSEWHERE,  # read only, as 1792 and 1836
        1792: Then.ELSEWHERE,
        1836: Then.ELSEWHERE,
        3032: Then.ELSEWHERE,  # of a replication group, as the next nine
        3100: Then.ELSEWHERE,
        3101: Then.ELSEWHERE,
        **dict.fromkeys((3781, 3782, 3783, 3796, 3797, 3798, 3799), Then.ELSEWHERE),
        1927: Then.ELSEWHERE,  # killed; these four are SQLAlchemy's
        2006: Then.ELSEWHERE,  # gone away
        2013: Then.ELSEWHERE,  # lost
        2014: Then.ELSEWHERE,  # out of step
        1300: Then.REFUSED,
        1366: Then.REFUSED,
        3854: Then.REFUSED,  # as MySQL says it, as 3988
        3988: Then.REFUSED,
        1969: Then.TOO_LONG,
        3024: Then.TOO_LONG,  # as MySQL says it
        1021: Then.UNAVAILABLE,  # disk full
    },
    "postgresql": {
        "08007": Then.AGAIN,  # the outcome of a COMMIT is unknown, as 40003
        "23505": Then.AGAIN,  # a unique key is taken
        "40001": Then.AGAIN,  # not serializable
        "40003": Then.AGAIN,
        "40P01": Then.AGAIN,  # deadlock
        "55P03": Then.AGAIN,  # waited too long for a lock
        "08000": Then.ELSEWHERE,  # connections, as reported by a proxy
        "08001": Then.ELSEWHERE,
        "08003": Then.ELSEWHERE,
        "08004": Then.ELSEWHERE,
        "08006": Then.ELSEWHERE,
        "25006": Then.ELSEWHERE,  # read only
        "57P01": Then.ELSEWHERE,  # terminated
        "57P02": Then.ELSEWHERE,  # crashed
        "57P03": Then.ELSEWHERE,  # not up yet
        "0A000": Then.ELSEWHERE,  # prepared before a table has changed; see test_prepared
        "26000": Then.ELSEWHERE,  # no longer prepared
        "22021": Then.REFUSED,
        "22P05": Then.REFUSED,
        "57014": Then.TOO_LONG,
        "53100": Then.UNAVAILABLE,  # disk full
    },
}

# A COMMIT that fails so has not happened.
NOT_COMMITTED: Mapping[str, set[object]] = {
    "sqlite": {"SQLITE_BUSY"},
    "mariadb": {1205, 1213, 1290, 1792, 1836},
    "postgresql": {"40001", "40P01"},
}

# One that fails so may have happened, as after all that is in neither list.
UNKNOWN: Mapping[str, set[object]] = {
    "sqlite": {"SQLITE_FULL", "SQLITE_IOERR_FSYNC"},
    # 3100: a hook of a replication group; 1105: Vitess, for most; 1969, 3024: limits of time
    "mariadb": {1047, 1053, 1105, 1180, 1317, 1969, 2013, 3024, 3100, 3101},
    "postgresql": {"08006", "08007", "25006", "40003", "57014", "57P01", "57P02", "57P03"},
}

HERE = STATEMENTS[FAMILY]


class Recorded(Service):
    """A service, and the connections that its writes begin on."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory, placement={"request_deadline": 600.0})
        self.connections: list[object] = []
        for engine in (self.database.reader, self.database.writer):
            sa.event.listen(engine, "begin", self._begin)
            with engine.connect():
                pass

    def _begin(self, conn: sa.Connection) -> None:
        self.connections.append(conn.connection.dbapi_connection)

    def send(self, *args: Any, **options: Any) -> Any:
        """Send a request, and count connections from now on."""
        self.connections.clear()
        return super().send(*args, **options)

    def read(self) -> Any:
        """Send a read that passes a text to the database."""
        return self.send("GET", "/usages?project_id=nobody", version="2.0")

    def add_trait(self) -> Any:
        """Send a write that does not record a marker."""
        return self.send("PUT", f"/traits/CUSTOM_{uuids.uuid4().hex.upper()}")

    def add_provider(self) -> Any:
        """Send a write that records a marker."""
        return self.send("POST", "/resource_providers", {"name": str(uuids.uuid4())})


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recorded]:
    with Recorded(tmp_path_factory.mktemp("codes")) as made:
        yield made


@pytest.mark.parametrize("code", HERE)
def test_a_write_of_which_a_statement_fails(service: Recorded, code: object) -> None:
    with failing_once(service.database.writer, "INSERT INTO traits", code):
        answer = service.add_trait()
    expected = {Then.AGAIN: 201, Then.ELSEWHERE: 201, Then.REFUSED: 400}
    then = HERE[code]
    assert answer.status_code == expected.get(then, 503), answer.text
    assert ("Retry-After" in answer.headers) == (then is Then.UNAVAILABLE)
    if then is Then.AGAIN:
        first, second = service.connections
        assert first is second
    elif then is Then.ELSEWHERE:
        first, second = service.connections
        assert first is not second
    else:
        assert len(service.connections) == 1


@pytest.mark.parametrize("code", [code for code in HERE if code not in codes.DUPLICATE])
def test_a_read_of_which_a_statement_fails(service: Recorded, code: object) -> None:
    then = HERE[code]
    with failing_once(service.database.reader, "SELECT", code):
        answer = service.read()
    assert answer.status_code == (400 if then is Then.REFUSED else 503)
    assert ("Retry-After" in answer.headers) == (then not in {Then.REFUSED, Then.TOO_LONG})
    (failed,) = service.connections
    assert service.read().status_code == 200
    assert (failed is not service.connections[0]) == (then is Then.ELSEWHERE)


@pytest.mark.parametrize(
    "code",
    [code for code in HERE if code not in codes.DUPLICATE and HERE[code] is not Then.REFUSED],
)
def test_a_read_is_run_again_at_1_x(service: Recorded, code: object) -> None:
    search = "/allocation_candidates?resources=VCPU:1"
    too_long = 503 if HERE[code] is Then.TOO_LONG else 200
    for path, version, expected in (
        (f"{search}&limit=10", "1.36", 200),
        (f"{search}&limit=10", "2.0", 503),
        (search, "1.36", too_long),
        ("/resource_providers", "1.0", too_long),
    ):
        with failing_once(service.database.reader, "SELECT", code):
            answer = service.send("GET", path, version=version)
        assert answer.status_code == expected, answer.text


@pytest.mark.parametrize("code", sorted(NOT_COMMITTED[FAMILY], key=str))
def test_a_commit_that_is_known_not_to_have_happened_is_run_again(
    service: Recorded, code: object
) -> None:
    with losing_commit(service.database.writer, code, happens=False):
        answer = service.add_trait()
    assert answer.status_code == 201, answer.text


@pytest.mark.parametrize("code", sorted(UNKNOWN[FAMILY], key=str))
def test_a_commit_that_has_happened_and_fails_is_found_out(service: Recorded, code: object) -> None:
    with losing_commit(service.database.writer, code, happens=True):
        answer = service.add_provider()
    assert answer.status_code == 200, answer.text
    uuid = answer.json["uuid"]
    assert service.send("GET", f"/resource_providers/{uuid}").json == answer.json


@pytest.mark.parametrize("code", sorted(UNKNOWN[FAMILY], key=str))
def test_a_commit_that_has_not_happened_is_found_out(service: Recorded, code: object) -> None:
    with losing_commit(service.database.writer, code, happens=False):
        answer = service.add_provider()
    lasts = HERE.get(code, Then.UNAVAILABLE) in {Then.UNAVAILABLE, Then.TOO_LONG}
    assert answer.status_code == (503 if lasts else 200), answer.text
    assert "it is unknown whether" not in answer.text


def test_a_commit_that_has_not_happened_is_kept_from_happening_later(service: Recorded) -> None:
    """Galera may execute it after nodes reconnect, unless its rows have changed before."""
    uuid = service.add_provider().json["uuid"]
    revision = sa.text("SELECT revision FROM resource_providers WHERE uuid = :uuid")
    others = sa.create_engine(service.database.writer.url, poolclass=sa.NullPool)
    seen: list[int] = []

    def look(_conn: sa.Connection | None = None) -> None:
        with others.connect() as conn:
            seen.append(conn.execute(revision, {"uuid": uuid}).scalar_one())

    sa.event.listen(service.database.writer, "begin", look)
    code = max(UNKNOWN[FAMILY] & HERE.keys(), key=str)
    with losing_commit(service.database.writer, code, happens=False):
        service.send("PUT", f"/resource_providers/{uuid}/inventories", inventories(0, VCPU=1))
    sa.event.remove(service.database.writer, "begin", look)
    look()
    lost, settled, afterwards = seen[:3]
    assert lost == settled != afterwards


def test_a_lost_commit_after_which_others_write_is_answered_as_unknown(
    service: Recorded, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The new revision of the tree shows neither that it happened nor that it did not."""
    uuid = service.add_provider().json["uuid"]
    writer = service.database.writer
    overwrite = sa.text("UPDATE resource_providers SET revision = 7 WHERE uuid = :uuid")
    others = sa.create_engine(writer.url, poolclass=sa.NullPool)
    code = max(UNKNOWN[FAMILY] & HERE.keys(), key=str)
    with losing_commit(writer, code, happens=True):
        lose = writer.dialect.do_commit

        def lose_and_overwrite(connection: Any) -> None:
            monkeypatch.setattr(writer.dialect, "do_commit", lose)
            try:
                lose(connection)
            finally:
                with others.begin() as conn:
                    conn.execute(overwrite, {"uuid": uuid})

        monkeypatch.setattr(writer.dialect, "do_commit", lose_and_overwrite)
        path = f"/resource_providers/{uuid}/inventories"
        answer = service.send("PUT", path, inventories(0, VCPU=1))
        monkeypatch.undo()
    assert answer.status_code == 503
    assert "it is unknown whether" in answer.text


@pytest.mark.parametrize("code", sorted(UNKNOWN[FAMILY], key=str))
@pytest.mark.parametrize("happens", [True, False])
def test_a_commit_that_fails_without_a_marker_is_answered_as_unknown(
    service: Recorded, code: object, happens: bool
) -> None:
    with losing_commit(service.database.writer, code, happens=happens):
        answer = service.add_trait()
    assert answer.status_code == 503
    assert "it is unknown whether" in answer.text


def test_a_commit_is_not_verified_by_what_a_dry_run_has_left(service: Recorded) -> None:
    body = {"name": str(uuids.uuid4())}
    service.send("POST", "/resource_providers?dry_run=true", body, version="2.0")
    code = max(UNKNOWN[FAMILY] & HERE.keys(), key=str)
    with losing_commit(service.database.writer, code, happens=True):
        answer = service.add_trait()
    assert answer.status_code == 503
    assert "it is unknown whether" in answer.text


def test_every_code_is_listed_here() -> None:
    listed: dict[Then, set[object]] = {then: set() for then in Then}
    for of_engine in STATEMENTS.values():
        for code, then in of_engine.items():
            listed[then].add(code)
    assert listed[Then.AGAIN] == codes.RETRIABLE | codes.DUPLICATE
    assert listed[Then.ELSEWHERE] - {1927, 2006, 2013, 2014} == codes.RECONNECT
    assert listed[Then.REFUSED] == codes.UNSTORABLE
    assert set().union(*NOT_COMMITTED.values()) == codes.NOT_COMMITTED
