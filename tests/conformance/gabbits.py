"""The gabbits of openstack-placement, as they are, sent to a server of this service.

Runs in the virtualenv of openstack-placement, and imports nothing of this repository. The fixtures
of the gabbits write clouds into a SQLite database of openstack-placement, and set its options. Both
are carried over: a server of this service adopts a copy of the database, with the same options. On
other engines, the copy is in a database with the tables of openstack-placement.
"""

from __future__ import annotations

import functools
import os
import shlex
import socket
import sqlite3
import subprocess
import sys
import time
import unittest
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import Any

import sqlalchemy as sa
from gabbi import driver
from gabbi.handlers import jsonhandler
from oslo_config import cfg

FIXTURES = "placement.tests.functional.fixtures.gabbits"
DIRECTORY = "gabbits"
START = 180  # seconds for a server to listen
SCHEMA = "a082b8bb98d0"  # of openstack-placement 16.0.0
# Options of openstack-placement's database and server.
OWN_GROUPS = {"placement_database"}

_engines: list[sa.Engine] = []
_options: dict[tuple[str, str], Any] = {}


def _record() -> None:
    """Remember the engine that was used last, and the options that fixtures set."""

    def remember(connection: sa.Connection) -> None:
        _engines[:] = [connection.engine]

    sa.event.listen(sa.Engine, "engine_connect", remember)
    set_override = cfg.ConfigOpts.set_override

    def recording(self: Any, name: str, override: Any, group: Any = None) -> Any:
        _options[str(group or "DEFAULT"), name] = override
        return set_override(self, name, override, group)

    cfg.ConfigOpts.set_override = recording  # type: ignore[method-assign]


class Service:
    """The command of a server, which is started again for each gabbit."""

    def __init__(self, command: str, port: int, databases: list[str]) -> None:
        self._command = shlex.split(command)
        # The URL of a database for each gabbit; empty: a SQLite file.
        self._databases = databases
        self._port = port
        self._process: subprocess.Popen[bytes] | None = None
        self._home: TemporaryDirectory[str] | None = None

    def start(self) -> None:
        self._home = TemporaryDirectory()
        home = Path(self._home.name)
        if self._databases:
            copy_rows(url := self._databases.pop())
        else:
            url = copy_file(home)
        (home / "placement.conf").write_text("".join(_lines()))
        outside = {name: text for name, text in os.environ.items() if not name.startswith("OS_")}
        with (home / "log").open("wb") as log:
            self._process = subprocess.Popen(
                [*self._command, "--bind", f"127.0.0.1:{self._port}"],
                env=outside
                | {
                    "OS_PLACEMENT_CONFIG_DIR": str(home),
                    "OS_PLACEMENT_DATABASE__CONNECTION": url,
                    "OS_PLACEMENT_DATABASE__SYNC_ON_STARTUP": "true",
                    "OS_API__AUTH_STRATEGY": "noauth2",
                },
                stdout=log,
                stderr=log,
            )
        deadline = time.monotonic() + START
        while True:
            try:
                socket.create_connection(("127.0.0.1", self._port)).close()
                return
            except OSError:
                if self._process.poll() is not None or time.monotonic() > deadline:
                    log_text = (home / "log").read_text(errors="replace")[-2000:]
                    self.stop()
                    raise RuntimeError(f"no server: {log_text}") from None
                time.sleep(0.1)

    def stop(self) -> None:
        assert self._process is not None
        assert self._home is not None
        self._process.terminate()
        self._process.wait()
        self._home.cleanup()


def copy_file(home: Path) -> str:
    """Copy the fixtures' database into a file of a directory; returns its URL."""
    with sqlite3.connect(home / "placement.db") as copy:
        raw = _engines[0].raw_connection()
        raw.driver_connection.backup(copy)  # type: ignore[union-attr] # it is sqlite3's
        raw.close()
        # The fixtures make tables without a record of the version of their schema.
        copy.execute("CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL)")
        copy.execute("INSERT INTO alembic_version VALUES (?)", [SCHEMA])
    copy.close()
    return f"sqlite:///{home}/placement.db"


def copy_rows(url: str) -> None:
    """Copy the rows of the fixtures' database into another one, which has the tables."""
    # openstack-placement has another driver of PostgreSQL than this service.
    engine = sa.create_engine(url.replace("+psycopg:", "+psycopg2:"), poolclass=sa.NullPool)
    with _engines[0].connect() as source, engine.begin() as target:
        if target.dialect.name == "mysql":
            # The first class has the id 0.
            target.exec_driver_sql("SET sql_mode = CONCAT(@@sql_mode, ',NO_AUTO_VALUE_ON_ZERO')")
        tables = sa.MetaData()
        tables.reflect(target)
        tables.remove(tables.tables["alembic_version"])
        for table in tables.sorted_tables:
            _copy_table(table, source, target)


def _copy_table(table: sa.Table, source: sa.Connection, target: sa.Connection) -> None:
    rows = [row._asdict() for row in source.execute(sa.select(table))]
    if rows:
        target.execute(table.insert(), rows)
    if target.dialect.name == "postgresql" and "id" in table.c:
        following = max((row["id"] for row in rows), default=0) + 1
        sequence = sa.func.pg_get_serial_sequence(table.name, "id")
        target.execute(sa.select(sa.func.setval(sequence, following, False)))


def _lines() -> list[str]:
    """Return the lines of a configuration with the options of the fixtures."""
    lines = []
    for (group, name), value in sorted(_options.items()):
        if group not in OWN_GROUPS and value is not None:
            text = ",".join(map(str, value)) if isinstance(value, list) else value
            # What is $name here has been replaced there, or is not used.
            lines.append(f"[{group}]\n{name} = {str(text).replace('$', '$$')}\n")
    return lines


class Fixtures(ModuleType):
    """openstack-placement's fixtures; each is followed by a server on a copy of its database."""

    def __init__(self, service: Service) -> None:
        super().__init__("carried")
        self._service = service

    def __getattr__(self, name: str) -> Any:
        theirs, service = getattr(import_module(FIXTURES), name), self._service

        class Carried(theirs):  # type: ignore[misc, valid-type]
            def start_fixture(self) -> None:
                _options.clear()
                super().start_fixture()
                service.start()

            def stop_fixture(self) -> None:
                service.stop()
                super().stop_fixture()

        Carried.__name__ = name
        return Carried


def main(command: str, port: int, databases: list[str]) -> int:
    """Run all gabbits, see `Service`; returns the number of failures."""
    _record()
    # gabbi makes a parser for each JSON path, of which few are different, and for each request
    # a client that reads certificates.
    jsonhandler.json_parser.parse = functools.cache(jsonhandler.json_parser.parse)
    package = import_module("placement.tests.functional")
    suite = driver.build_tests(
        str(Path(next(iter(package.__path__)), DIRECTORY)),
        unittest.TestLoader(),
        host="127.0.0.1",
        port=port,
        fixture_module=Fixtures(Service(command, port, databases)),
        test_loader_name="gabbits",
        cert_validate=False,
    )
    result = unittest.TextTestRunner(verbosity=1).run(suite)
    failed = len(result.failures) + len(result.errors) + len(result.unexpectedSuccesses)
    for test, _ in [*result.failures, *result.errors]:
        print("failed:", test.id())
    run = result.testsRun - len(result.skipped)
    print(f"passed {run - failed} of {run}, {len(result.skipped)} skipped")
    return failed


if __name__ == "__main__":
    sys.exit(bool(main(sys.argv[1], int(sys.argv[2]), sys.argv[3:])))
