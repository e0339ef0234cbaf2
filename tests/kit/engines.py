"""Private database servers of the tests, which may be killed and are discarded at the end.

`PLACEMENT_ENGINE` is the engine of the tests' databases: sqlite (the default), mariadb, mysql or
postgresql. The servers are programs installed on this machine, or in the directories
`PLACEMENT_SERVERS` (separated by colons) that `.ci/servers` has made, each with a private data
directory and a free port. `PLACEMENT_DATA` is the directory for these, instead of the one for
temporary files. `PLACEMENT_MYSQL_DRIVER` is the driver for MariaDB and MySQL: pymysql
(the default) or mysqldb. `PLACEMENT_EXAMPLES` and `PLACEMENT_SEED` select more, or other, random
examples than those of `make test-all` and the gate.
"""

from __future__ import annotations

import atexit
import functools
import itertools
import os
import pwd
import random
import re
import shutil
import signal
import sqlite3
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import ClassVar

import sqlalchemy as sa

from tests.kit.ports import free_port
from tests.kit.proxy import Proxy

ENGINE = os.environ.get("PLACEMENT_ENGINE", "sqlite")
MYSQL_DRIVER = os.environ.get("PLACEMENT_MYSQL_DRIVER", "pymysql")
# The engine whose SQL and error codes the engine has: MySQL has those of MariaDB.
FAMILY = "mariadb" if ENGINE == "mysql" else ENGINE
# Views may be torn, so further reads of revisions confirm content
# (`placement/objects/revisions.py`).
TEARS_VIEWS = FAMILY == "mariadb"
# The roots of trees with the programs of servers, of which none is taken from elsewhere.
SERVERS_ROOT = os.environ.get("PLACEMENT_SERVERS")
DATA = os.environ.get("PLACEMENT_DATA")
START = 180  # seconds for the start of a server
# Factor for the number of random examples that a test states. The default is enough to notice each
# fault of the catalogues, and `make soak` runs more than stated.
EXAMPLES = float(os.environ.get("PLACEMENT_EXAMPLES", "0.15"))
# Seed for other random examples; without it they are the same in every run.
SEED = os.environ.get("PLACEMENT_SEED", "")


class MissingServerError(RuntimeError):
    """The selected engine is not installed, or its user does not exist."""


class Server:
    """A database server with a private directory; subclasses define its commands."""

    account: ClassVar[str]  # the user of the server if the tests run as root
    program: ClassVar[str]
    scheme: ClassVar[str]
    admin: ClassVar[str]  # the database to connect to for administration

    def __init__(self, kept: Path | None = None, options: Sequence[str] = ()) -> None:
        """`kept` is a directory that persists; if it has data, the server uses them."""
        account = self.find()
        self.port = free_port()
        self._kept = kept is not None
        self._options = options
        if kept is not None:
            kept.mkdir(parents=True, exist_ok=True)
        self.directory = kept or Path(
            tempfile.mkdtemp(prefix=f"placement-{self.account}-", dir=DATA)
        )
        new = not (self.directory / "data").exists()
        self._process: subprocess.Popen[bytes] | None = None
        self._own: dict[str, object] = {}
        if account is not None:
            os.chown(self.directory, account.pw_uid, account.pw_gid)
            self._own = {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}
        if new:
            self._run(self.make())
        self.start()
        atexit.register(self.discard)

    @classmethod
    def find(cls) -> pwd.struct_passwd | None:
        """Return the user to run the server as, or None for the user that runs the tests.

        Raises MissingServerError if the server or this user is missing.
        """
        cls.binary(cls.program)
        if os.geteuid():
            return None
        try:
            return pwd.getpwnam(cls.account)
        except KeyError:
            raise MissingServerError(
                f"the user {cls.account} does not exist, which runs {cls.program} for root"
            ) from None

    @classmethod
    def binary(cls, name: str) -> str:
        """The path of a program.  Raises MissingServerError."""
        roots = [Path(root, "usr") for root in (SERVERS_ROOT or "/").split(":")]
        # Before the programs in usr/bin, which choose among the versions of the machine.
        places = [path for usr in roots for path in sorted(usr.glob("lib/postgresql/*/bin"))[::-1]]
        places += [] if SERVERS_ROOT else map(Path, os.environ["PATH"].split(":"))
        places += [usr / folder for usr in roots for folder in ("bin", "sbin")]
        for place in places:
            found = shutil.which(name, path=place)
            # MariaDB has links to its programs by the names of MySQL's.
            if found and not (name == "mysqld" and Path(found).is_symlink()):
                return found
        raise MissingServerError(f"{name} is not installed")

    def make(self) -> Sequence[str]:
        """The command that initializes the directory."""
        raise NotImplementedError

    def serve(self) -> Sequence[str]:
        """The command that starts the server."""
        raise NotImplementedError

    def _run(self, command: Sequence[str]) -> None:
        done = subprocess.run(
            command, cwd=self.directory, capture_output=True, text=True, check=False, **self._own
        )  # type: ignore[call-overload]
        if done.returncode:
            raise RuntimeError(f"{' '.join(command)}: {done.stdout[-1000:]}{done.stderr[-1000:]}")

    def start(self) -> None:
        """Start the server and wait until it accepts connections."""
        with (self.directory / "server.log").open("ab") as log:
            self._process = subprocess.Popen(
                [*self.serve(), *self._options],
                cwd=self.directory,
                stdout=log,
                stderr=log,
                **self._own,
            )  # type: ignore[call-overload]
        engine = sa.create_engine(self.url(self.admin), poolclass=sa.NullPool)
        deadline = time.monotonic() + START
        while True:
            try:
                with engine.connect():
                    return
            except sa.exc.OperationalError:
                if self._process.poll() is not None or time.monotonic() > deadline:
                    complaint = (self.directory / "server.log").read_text(errors="replace")
                    raise RuntimeError(f"the server did not start: {complaint[-2000:]}") from None
                time.sleep(0.1)

    @property
    def pid(self) -> int:
        """The server's process, which must be running."""
        assert self._process is not None
        return self._process.pid

    def kill(self) -> None:
        """Kill the server, and wait until all its processes have ended.

        Processes that serve connections end when they notice it; until then, their shared memory
        prevents another server from using the data.
        """
        os.kill(self.pid, signal.SIGSTOP)
        os.waitid(os.P_PID, self.pid, os.WSTOPPED)  # it cannot start further processes
        listed = Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text()
        others = [int(number) for number in listed.split()]
        self.stop(signal.SIGKILL)
        deadline = time.monotonic() + START
        while any(map(is_alive, others)):
            if time.monotonic() > deadline:
                raise RuntimeError(f"of the server are left: {others}")
            time.sleep(0.02)

    def discard(self) -> None:
        """Stop the server and delete its data, unless they are kept."""
        # MySQL never ends by SIGTERM if its directory has been deleted.
        self.stop(signal.SIGTERM if self._kept and self.directory.exists() else signal.SIGKILL)
        if not self._kept:
            # Hundreds of databases are a hundred thousand files: do not wait for their deletion.
            os.posix_spawnp("rm", ["rm", "-rf", str(self.directory)], os.environ)

    def stop(self, how: signal.Signals) -> None:
        """Stop the server with a signal, and wait until it has ended."""
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(how)
            self._process.wait()

    def url(self, database: str) -> str:
        """The SQLAlchemy URL of a database."""
        return f"{self.scheme}@127.0.0.1:{self.port}/{database}"

    def databases(self) -> list[str]:
        """The names of the databases."""
        engine = sa.create_engine(self.url(self.admin), poolclass=sa.NullPool)
        with engine.connect() as conn:
            if conn.dialect.name == "mysql":
                return list(sa.inspect(conn).get_schema_names())
            return list(conn.exec_driver_sql("SELECT datname FROM pg_database").scalars())

    def execute(self, *statements: str) -> None:
        """Execute statements outside of the tests' databases."""
        engine = sa.create_engine(
            self.url(self.admin), isolation_level="AUTOCOMMIT", poolclass=sa.NullPool
        )
        with engine.connect() as conn:
            for statement in statements:
                conn.exec_driver_sql(statement)


def is_alive(process: int) -> bool:
    """Return whether a process exists and is not a zombie.

    An orphan remains a zombie in a container whose first process does not wait for it.
    """
    try:
        status = Path(f"/proc/{process}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return status.rpartition(")")[2].split()[0] not in {"Z", "X"}


class MariaDB(Server):
    """MariaDB with the character set of old deployments, without 4-byte characters."""

    account = "mysql"
    program = "mariadbd"
    scheme = f"mysql+{MYSQL_DRIVER}://root"
    admin = "mysql"
    own_options: ClassVar[Sequence[str]] = ("--skip-name-resolve", "--sync-frm=OFF")

    @property
    def _directories(self) -> Sequence[str]:
        """The programs', and a private one, because a server deletes others' files in it."""
        usr = Path(self.binary(self.program)).parents[1]
        return f"--basedir={usr}", f"--tmpdir={self.directory}"

    def make(self) -> Sequence[str]:
        return (
            self.binary("mariadb-install-db"),
            "--no-defaults",
            f"--datadir={self.directory}/data",
            *self._directories,
            "--auth-root-authentication-method=normal",
            "--skip-test-db",
        )

    def serve(self) -> Sequence[str]:
        return (
            self.binary(self.program),
            "--no-defaults",
            f"--datadir={self.directory}/data",
            f"--socket={self.directory}/socket",
            f"--pid-file={self.directory}/pid",
            f"--port={self.port}",
            "--bind-address=127.0.0.1",
            *self._directories,
            "--character-set-server=utf8mb3",
            "--collation-server=utf8mb3_general_ci",
            "--max-connections=400",
            # Durable if the process is killed, but not in a power failure: enough for tests.
            "--innodb-flush-log-at-trx-commit=2",
            "--innodb-flush-method=nosync",
            *self.own_options,
        )


class MySQL(MariaDB):
    """MySQL with the same character set."""

    program = "mysqld"
    # Its log for replicas is on by default.
    own_options = ("--skip-log-bin", "--mysqlx=OFF", "--secure-file-priv=")

    def make(self) -> Sequence[str]:
        return (
            self.binary(self.program),
            "--no-defaults",
            "--initialize-insecure",
            f"--datadir={self.directory}/data",
            *self._directories,
        )


class PostgreSQL(Server):
    """PostgreSQL with defaults, except that files are not synchronized."""

    account = "postgres"
    program = "postgres"
    scheme = "postgresql+psycopg://postgres"
    admin = "postgres"

    def make(self) -> Sequence[str]:
        return (
            self.binary("initdb"),
            f"--pgdata={self.directory}/data",
            "--username=postgres",
            "--auth=trust",
            "--encoding=UTF8",
            "--no-sync",
        )

    def serve(self) -> Sequence[str]:
        return (
            self.binary(self.program),
            "-D", f"{self.directory}/data",
            "-p", str(self.port),
            "-k", str(self.directory),
            "-c", "listen_addresses=127.0.0.1",
            "-c", "max_connections=400",
            "-c", "fsync=off",
        )  # fmt: skip


SERVERS: Mapping[str, type[Server]] = {
    "mariadb": MariaDB,
    "mysql": MySQL,
    "postgresql": PostgreSQL,
}


def installed(engine: str) -> bool:
    """Return whether an engine is installed, and the tests can run it."""
    try:
        if engine != "sqlite":
            SERVERS[engine].find()
    except MissingServerError:
        return False
    return True


def version(engine: str) -> str:
    """Return the version of an engine, which must be installed."""
    if engine == "sqlite":
        return sqlite3.sqlite_version
    command = [SERVERS[engine].binary(SERVERS[engine].program), "--version"]
    stated = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return str(re.findall(r"\s(\d+\.[\d.]+)", stated)[0])


@functools.cache
def server(engine: str = ENGINE) -> Server:
    """The server that the tests of this process share."""
    return SERVERS[engine]()


def share(number: int) -> int:
    """Return how many of a number of random examples to run."""
    return max(1, int(number * EXAMPLES))


def seeded(name: str | int) -> random.Random:
    """Return a source of random examples; sources with different names are independent."""
    return random.Random(f"{SEED} {name}" if SEED else name)


_numbers = itertools.count(1)
# Databases of PostgreSQL, of 10 MB each, that are dropped when pytest has deleted the directory.
_directories: dict[str, Path] = {}


def new_database(directory: Path, prepare: Callable[[str], None]) -> str:
    """The URL of a new database; `prepare` gets the URL of an empty one, only once if possible.

    On SQLite the file is in `directory`.
    """
    if ENGINE == "sqlite":
        path = directory / f"placement-{next(_numbers)}.db"
        shutil.copyfile(_sqlite_template(prepare), path)
        return f"sqlite:///{path}"
    if ENGINE == "postgresql":
        name = f"placement_{next(_numbers)}"
        ended = [other for other, path in _directories.items() if not path.exists()]
        server().execute(
            *(f"DROP DATABASE {other} WITH (FORCE)" for other in ended),
            f"CREATE DATABASE {name} TEMPLATE {_postgresql_template(prepare)}",
        )
        for other in ended:
            del _directories[other]
        _directories[name] = directory
        return server().url(name)
    url = empty_database(directory)
    copy = _mariadb_template(prepare)
    with sa.create_engine(url, poolclass=sa.NullPool).begin() as conn:
        for statement in copy:
            conn.exec_driver_sql(statement)
    return url


def empty_database(directory: Path) -> str:
    """The URL of a new database without tables; on SQLite the file is in `directory`."""
    name = f"placement_{next(_numbers)}"
    if ENGINE == "sqlite":
        return f"sqlite:///{directory / name}.db"
    server().execute(f"CREATE DATABASE {name}")
    return server().url(name)


def behind(url: str, seed: int = 0) -> tuple[str, Proxy]:
    """The URL of a server's database through a new proxy, and the proxy."""
    proxy = Proxy(server().port, seed=seed)
    return url.replace(f":{server().port}/", f":{proxy.port}/"), proxy


@functools.cache
def _sqlite_template(prepare: Callable[[str], None]) -> Path:
    path = Path(tempfile.mkdtemp(prefix="placement-tests-")) / "template.db"
    atexit.register(shutil.rmtree, path.parent, ignore_errors=True)
    prepare(f"sqlite:///{path}")
    return path


@functools.cache
def _postgresql_template(prepare: Callable[[str], None]) -> str:
    server().execute("CREATE DATABASE template_of_tests")
    prepare(server().url("template_of_tests"))
    return "template_of_tests"


@functools.cache
def _mariadb_template(prepare: Callable[[str], None]) -> Sequence[str]:
    """Return the statements that copy the prepared database into an empty one."""
    template = "template_of_tests"
    server().execute(f"CREATE DATABASE {template}")
    prepare(server().url(template))
    # Class 0 must keep id 0, and the order of the tables is arbitrary.
    copy = ["SET sql_mode = 'NO_AUTO_VALUE_ON_ZERO'", "SET foreign_key_checks = 0"]
    with sa.create_engine(server().url(template), poolclass=sa.NullPool).connect() as conn:
        for table in sa.inspect(conn).get_table_names():
            copy.append(conn.exec_driver_sql(f"SHOW CREATE TABLE {table}").one()[1])
            if conn.exec_driver_sql(f"SELECT 1 FROM {table} LIMIT 1").first():
                copy.append(f"INSERT INTO {table} SELECT * FROM {template}.{table}")
    return copy
