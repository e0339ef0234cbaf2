"""Statements that are kept are handed to the driver as text, with the same outcome."""

import gc
from collections.abc import Iterator, Sequence
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
_AMONG = sa.select(HOSTS.c.id).where(bulk.in_list(HOSTS.c.id)).order_by(HOSTS.c.id)
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


def among(conn: sa.Connection, ids: Sequence[int]) -> list[int]:
    return [row.id for row in Query(_AMONG, {"ids": ids}).rows(conn)]


def test_a_statement_that_is_kept_is_sqlalchemys_once(
    conn: sa.Connection, compiled: list[Any]
) -> None:
    lists = [[1], [2], [3, 5], [], [8, 7], [9], list(range(texts.MAX_VALUES - 1))]
    assert [among(conn, ids) for ids in lists] == [sorted(ids) for ids in lists]
    assert compiled == [_AMONG]


def test_statements_with_many_values_are_sqlalchemys(
    conn: sa.Connection, compiled: list[Any]
) -> None:
    ids = list(range(texts.MAX_VALUES))
    assert [among(conn, ids) for _ in range(3)] == [ids] * 3
    assert compiled == [_AMONG] * 3
    compiled.clear()
    for first in (1000, 2000, 3000):
        rows = [{"id": first + each, "name": "new"} for each in range(texts.MAX_VALUES // 2 + 1)]
        bulk.insert(HOSTS, rows).execute(conn)
    assert len(compiled) == 3


def test_no_statement_has_more_than_some_texts(
    conn: sa.Connection, compiled: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(texts, "MAX_TEXTS", 2)
    lists = [[1], [1], [1, 2], [1, 2, 3], [1, 2, 3, 4], [5], [6, 7]]
    assert [among(conn, ids) for ids in lists] == lists
    assert len(compiled) == 3  # the first, and the lists of three and of four


def test_parameters_may_have_any_order_next_to_literal_values(
    conn: sa.Connection, compiled: list[Any]
) -> None:
    first = {"name": "host2", "ids": [2, 3], "others": [1, 2, 3]}
    second = {"others": [4, 5], "ids": [3, 4, 5], "name": "host5"}
    for params in (first, first, second):
        rows = Query(_TWICE, params).rows(conn)
    assert [(row.id, row.name, row.seven) for row in rows] == [(4, "host4", 7)]
    assert len(compiled) == 1


def test_a_parameter_that_is_missing_is_an_error(conn: sa.Connection) -> None:
    params = {"name": "host2", "ids": [2, 3], "others": [1, 2, 3]}
    for _ in range(2):
        Query(_TWICE, params).rows(conn)
    del params["name"]
    with pytest.raises(KeyError, match="name"):
        Query(_TWICE, params).rows(conn)


def test_values_are_converted_on_their_way_in_and_out(
    conn: sa.Connection, compiled: list[Any]
) -> None:
    moment = sa.bindparam("moment", type_=HOSTS.c.seen_at.type)
    update = sa.update(HOSTS).where(bulk.in_list(HOSTS.c.id)).values(seen_at=moment)
    dated = sa.select(HOSTS.c.seen_at).where(bulk.in_list(HOSTS.c.seen_at, "moments")).distinct()
    for _ in range(2):
        Write(update, {"ids": [1, 2], "moment": LATER}, matches=2).execute(conn)
        Write(update, {"ids": [3], "moment": None}, matches=1).execute(conn)
        rows = Query(dated, {"moments": [NOON, LATER]}).rows(conn)
        assert {row.seen_at for row in rows} == {NOON, LATER}
    assert compiled == [update, dated, dated]


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


def test_a_statement_for_one_call_is_forgotten(conn: sa.Connection) -> None:
    of_engine = conn.get_execution_options()[texts.OPTION]
    for row_id in range(3):
        Query(sa.select(HOSTS.c.name).where(HOSTS.c.id == row_id)).rows(conn)
    gc.collect()
    assert len(of_engine._by_statement) <= 1  # the statement whose text SQLAlchemy caches


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
