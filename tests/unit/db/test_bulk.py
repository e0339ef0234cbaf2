"""Statements on many rows: lists, values by id, and inserts that are longer than one statement."""

from collections.abc import Iterator

import pytest
import sqlalchemy as sa

from placement.db import bulk
from placement.db.statement import CHUNK_SIZE

NAMES = sa.Table(
    "names",
    sa.MetaData(),
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("size", sa.Integer),
    sa.Column("double", sa.Integer),
)
MANY = CHUNK_SIZE + 2


@pytest.fixture
def conn() -> Iterator[sa.Connection]:
    engine = sa.create_engine("sqlite://")
    with engine.connect() as conn:
        NAMES.metadata.create_all(conn)
        rows = [{"id": row_id, "size": 0} for row_id in range(MANY)]
        writes = bulk.insert(NAMES, rows, (("double", ":id_{index} * 2"),))
        assert len(writes) == 2
        writes.execute(conn)
        yield conn


def test_inserts_compute_columns_of_a_rows_own_values(conn: sa.Connection) -> None:
    row = sa.select(NAMES.c.id, NAMES.c.double).order_by(NAMES.c.id.desc()).limit(1)
    assert tuple(conn.execute(row).one()) == (MANY - 1, 2 * (MANY - 1))


def test_rows_get_each_their_own_value(conn: sa.Connection) -> None:
    bulk.set_by_id(NAMES.c.size, {row_id: row_id + 1 for row_id in range(MANY)}).execute(conn)
    wrong = sa.select(sa.func.count()).where(NAMES.c.size != NAMES.c.id + 1)
    assert conn.execute(wrong).scalar_one() == 0


def test_rows_are_selected_and_deleted_by_a_list_of_any_length(conn: sa.Connection) -> None:
    row_ids = set(range(1, MANY))
    select = sa.select(NAMES.c.id).where(bulk.in_list(NAMES.c.id))
    assert {row_id for (row_id,) in bulk.select_by(select, row_ids).rows(conn)} == row_ids
    delete = sa.delete(NAMES).where(bulk.in_list(NAMES.c.id), NAMES.c.size == sa.bindparam("old"))
    bulk.write_by(delete, row_ids, {"old": 0}).execute(conn)
    assert conn.execute(sa.select(NAMES.c.id)).scalars().all() == [0]
    assert bulk.write_by(delete, [], {"old": 0}) == ()


def test_writes_of_many_rows_have_the_names_of_their_parameters_in_common() -> None:
    rows = [{"id": row_id, "size": 0} for row_id in range(3 * CHUNK_SIZE)]
    first, *others = (set(map(id, write.params)) for write in bulk.insert(NAMES, rows))
    assert len(first) == 2 * CHUNK_SIZE
    assert others == [first, first]


def test_a_statement_is_built_once_for_each_number_of_rows() -> None:
    sizes: list[tuple[str, int, bool]] = []

    @bulk.cached_by_size
    def build(name: str, size: int, *, guarded: bool) -> object:
        sizes.append((name, size, guarded))
        return object()

    first = build("one", size=3, guarded=True)
    assert build("one", size=3, guarded=True) is first
    others = [
        build("one", size=4, guarded=True),
        build("two", size=3, guarded=True),
        build("one", size=3, guarded=False),
    ]
    assert first not in others
    assert len(set(sizes)) == len(sizes) == 4
    build("large", size=bulk.MAX_CACHED_ROWS, guarded=True)
    assert build("one", size=3, guarded=True) is not first
