"""Statements that are kept are handed to the driver as text, with the same outcome."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy import exc

from placement.db import bulk, texts
from placement.db.dialects import dialect_named
from placement.db.statement import Query, Write
from tests.kit.drivers import failure

HOSTS = sa.Table(
    "hosts",
    sa.MetaData(),
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("name", sa.String(20)),
    sa.Column("seen_at", sa.DateTime),
)
NOON, LATER = datetime(2030, 1, 2, 12), datetime(2030, 1, 2, 13)
# Two lists, a value that is used twice, a constant, and two literal lists.
_TWICE = (
    sa.select(HOSTS.c.id, HOSTS.c.name, sa.literal(7).label("seven"))
    .where(HOSTS.c.name != sa.bindparam("name"), bulk.in_list(HOSTS.c.id))
    .where(HOSTS.c.name != sa.bindparam("name"), bulk.in_list(HOSTS.c.id, "others"))
    .where(HOSTS.c.id.in_([3, 4, 8]), HOSTS.c.seen_at.in_([NOON]))
)


@pytest.fixture
def conn() -> Iterator[sa.Connection]:
    options = {texts.OPTION: texts.Texts()}
    engine = sa.create_engine("sqlite://", execution_options=options)
    with engine.connect() as conn:
        HOSTS.metadata.create_all(conn)
        rows = [{"id": each, "name": f"host{each}", "seen_at": NOON} for each in range(200)]
        conn.execute(sa.insert(HOSTS), rows)
        yield conn


@pytest.fixture
def compiled(conn: sa.Connection) -> list[Any]:
    """Statements that SQLAlchemy executes itself."""
    seen: list[Any] = []

    def note(_conn: Any, statement: Any, *_rest: Any) -> None:
        seen.append(statement)

    sa.event.listen(conn, "before_execute", note)
    return seen


def test_parameters_may_have_any_order_next_to_literal_values(
    conn: sa.Connection, compiled: list[Any]
) -> None:
    first = {"name": "host2", "ids": [2, 3], "others": [1, 2, 3]}
    second = {"others": [4, 5], "ids": [3, 4, 5], "name": "host5"}
    for params in (first, first, second):
        rows = Query(_TWICE, params).rows(conn)
    assert [(row.id, row.name, row.seven) for row in rows] == [(4, "host4", 7)]
    assert len(compiled) == 1


def test_inserted_rows_are_counted_and_the_id_of_one_is_returned(
    conn: sa.Connection, compiled: list[Any]
) -> None:
    insert = sa.insert(HOSTS)
    for row_id in (901, 902):
        assert Write(insert, {"id": row_id, "name": "new"}, matches=1).insert(conn) == row_id
    for first in (910, 920, 930):
        rows = [{"id": first + each, "name": "new"} for each in range(2)]
        bulk.insert(HOSTS, rows).execute(conn)
    assert [statement is insert for statement in compiled] == [True, False]


def test_a_statement_that_could_not_be_prepared_is_not_repeated(
    conn: sa.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error of PREPARE has the text of the statement, but no values."""
    refusal = exc.DBAPIError("SELECT name FROM hosts WHERE name = %s", None, failure(1267))

    def refuse(*_args: object) -> Any:
        raise refusal

    monkeypatch.setattr(conn, "execute", refuse)
    monkeypatch.setattr(texts, "dialect_of", lambda _conn: dialect_named("mysql"))
    with pytest.raises(exc.DBAPIError) as raised:
        texts.read(conn, sa.select(HOSTS.c.name), {})
    assert raised.value is refusal
