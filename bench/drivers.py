"""`python -m bench.drivers`: what each driver of MariaDB takes for a statement, rows, a connection.

On a server of its own that does nothing else; by itself, and as the service uses it. Instructions
are those of this process outside of the kernel; processor time has the kernel's share, too. Each is
the least of some rounds. `python -m bench.instructions --drivers` has whole requests.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from importlib import import_module

import sqlalchemy as sa

from bench.instruction_rows import Instructions
from bench.tables import figure, table
from placement.db.engine import Database
from placement.db.statement import Query
from tests.kit.builders import settings
from tests.kit.engines import MariaDB

ROUNDS = 5
DRIVERS = {"PyMySQL": ("pymysql", "pymysql"), "mysqlclient": ("mysqldb", "MySQLdb")}
HEAD = ("", "thousand instructions", "µs of a processor", "µs")
THREE_VALUES = ("SELECT %s, %s, %s", ("c0ffee00-0000-4000-8000-000000000000", 1, "name"))

Act = Callable[[], object]


def acts(server: MariaDB, driver: str, module: str) -> Iterator[tuple[str, Act, int]]:
    """Yield what is measured: its name, the act, and how often it is done in a round."""
    connect = import_module(module).connect
    raw = connect(host="127.0.0.1", port=server.port, user="root", database=server.admin)

    def execute(statement: str, values: object = None) -> Act:
        def act() -> None:
            cursor = raw.cursor()
            cursor.execute(statement, values)
            cursor.fetchall()
            cursor.close()

        return act

    yield "a statement", execute("SELECT 1"), 500
    yield "a statement with three values", execute(*THREE_VALUES), 500
    yield "ROLLBACK", raw.rollback, 500
    yield (
        "1,000 rows of three columns",
        execute("SELECT seq, 'name', seq + 1 FROM seq_1_to_1000"),
        20,
    )
    yield "one text of 1 MB", execute("SELECT REPEAT('abcdefghij', 100000)"), 20
    raw.close()
    database = Database(
        settings(f"mysql+{driver}://root@127.0.0.1:{server.port}/{server.admin}").database
    )
    database.limit_statements()
    one = Query(sa.select(sa.literal_column("1")))

    def read() -> None:
        with database.read() as conn:
            one.rows(conn)

    def reconnect() -> None:
        database.reader.dispose()
        with database.reader.connect():
            pass

    yield "a statement that is asked alone", lambda: database.ask(one.rows), 300
    yield "a statement in a snapshot", read, 300
    yield "a new connection of the pool", reconnect, 20
    database.dispose()


def least(act: Act, number: int) -> tuple[float, float, float]:
    """Return thousand instructions, and microseconds of the processor and of the clock."""
    counter = Instructions()
    act()
    rounds = []
    for _ in range(ROUNDS):
        before = counter.so_far(), time.thread_time(), time.perf_counter()
        for _ in range(number):
            act()
        after = counter.so_far(), time.thread_time(), time.perf_counter()
        rounds.append([(late - early) / number for early, late in zip(before, after, strict=True)])
    counter.close()
    instructions, processor, clock = map(min, zip(*rounds, strict=True))
    return instructions / 1e3, processor * 1e6, clock * 1e6


def main() -> None:
    """Measure and print."""
    server = MariaDB()
    rows: dict[str, list[str]] = {}
    for name, (driver, module) in DRIVERS.items():
        for act, do, number in acts(server, driver, module):
            rows[f"{act}, {name}"] = [figure(value) for value in least(do, number)]
    print(table(HEAD, [[name, *cells] for name, cells in sorted(rows.items())]))


if __name__ == "__main__":
    main()
