"""Statements run one by one, and writes compare what they match."""

from collections.abc import Iterator

import pytest
import sqlalchemy as sa

from placement.db import texts
from placement.db.constructs import insert_unless_present
from placement.db.statement import (
    CHUNK_SIZE,
    Queries,
    Query,
    Unmatched,
    Write,
    Writes,
    chunks,
    mapping_chunks,
    sorted_chunks,
)

NUMBERS = sa.Table("numbers", sa.MetaData(), sa.Column("number", sa.Integer, primary_key=True))
ALL = Query(sa.select(NUMBERS).order_by(NUMBERS.c.number))
DELETE = sa.delete(NUMBERS).where(NUMBERS.c.number < sa.bindparam("limit"))


@pytest.fixture
def conn() -> Iterator[sa.Connection]:
    engine = sa.create_engine("sqlite://")
    with engine.connect() as conn:
        NUMBERS.metadata.create_all(conn)
        conn.execute(sa.insert(NUMBERS), [{"number": number} for number in range(3)])
        yield conn


def numbers(conn: sa.Connection) -> list[int]:
    return [number for (number,) in ALL.rows(conn)]


def test_a_query_has_rows_in_the_form_that_it_parses_them_to(conn: sa.Connection) -> None:
    parsed = Query(ALL.sql, parse=lambda rows: [number * 2 for (number,) in rows])
    assert parsed.rows(conn) == [0, 2, 4]
    largest = Query(sa.select(sa.func.max(NUMBERS.c.number), sa.literal("x")))
    assert tuple(largest.row(conn)) == (2, "x")
    assert Query(sa.select(sa.func.count()).select_from(NUMBERS)).value(conn) == 3


@pytest.mark.parametrize(("number", "rows"), [(0, []), (1, [0, 1, 2]), (2, [0, 1, 2, 0, 1, 2])])
def test_queries_have_the_rows_of_all(conn: sa.Connection, number: int, rows: list[int]) -> None:
    queries = Queries([ALL] * number)
    assert [number for (number,) in queries.rows(conn)] == rows


@pytest.mark.parametrize("matches", [1, 3])
def test_a_write_that_matches_another_number_of_rows_is_noticed(
    conn: sa.Connection, matches: int
) -> None:
    with pytest.raises(Unmatched, match=f"2 rows instead of {matches}"):
        Write(DELETE, {"limit": 2}, matches=matches).execute(conn)


def test_what_is_noticed_shows_the_statement_as_it_was_sent(conn: sa.Connection) -> None:
    """Without a connection, the form of a statement on an engine is unknown."""
    insert = insert_unless_present(NUMBERS).values([{"number": 8}, {"number": 9}])
    with pytest.raises(Unmatched, match=r"2 rows instead of 1: INSERT .* ON CONFLICT DO NOTHING"):
        Write(insert, matches=1, allow_fewer=True).execute(conn)


@pytest.mark.parametrize(("matches", "noticed"), [(3, False), (2, False), (1, True)])
def test_a_write_may_match_fewer_rows_only_if_it_says_so(
    conn: sa.Connection, matches: int, noticed: bool
) -> None:
    write = Write(DELETE, {"limit": 2}, matches=matches, allow_fewer=True)
    if noticed:
        with pytest.raises(Unmatched):
            write.execute(conn)
    else:
        write.execute(conn)
        assert numbers(conn) == [2]


def test_an_unknown_number_of_rows_is_noticed(
    conn: sa.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(texts, "write", lambda *_arguments: -1)
    with pytest.raises(Unmatched):
        Write(DELETE, {"limit": 2}, matches=1, allow_fewer=True).execute(conn)


def test_writes_are_executed_in_their_order_and_none_does_nothing(conn: sa.Connection) -> None:
    Writes().execute(conn)
    assert Write(sa.insert(NUMBERS), {"number": 7}, matches=1).insert(conn) == 7
    Writes(
        [Write(DELETE, {"limit": 1}, matches=1), Write(DELETE, {"limit": 8}, matches=3)]
    ).execute(conn)
    assert numbers(conn) == []


def test_long_lists_are_cut_in_the_order_of_their_keys() -> None:
    keys = list(range(2 * CHUNK_SIZE, -1, -1))
    assert [len(chunk) for chunk in chunks(keys)] == [CHUNK_SIZE, CHUNK_SIZE, 1]
    assert [chunk[0] for chunk in sorted_chunks(keys)] == [0, CHUNK_SIZE, 2 * CHUNK_SIZE]
    (first, *_others, last) = mapping_chunks({key: str(key) for key in keys})
    assert list(first.items())[:2] == [(0, "0"), (1, "1")]
    assert last == {2 * CHUNK_SIZE: str(2 * CHUNK_SIZE)}
    assert not [*chunks([]), *sorted_chunks(set[int]()), *mapping_chunks(dict[int, str]())]
