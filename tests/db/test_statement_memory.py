"""Cached statements and the limits on their size."""

import gc
from pathlib import Path

import pytest
import sqlalchemy as sa

from placement.db import bulk, pools
from placement.db.statements import allocations
from tests.kit import rendered
from tests.kit.builders import make_database

COLUMNS = 5  # of an allocation
SIZES = range(400, 430)
MAX_CACHED_PARAMETERS = 4000


def _parameters() -> int:
    gc.collect()
    return sum(isinstance(each, sa.BindParameter) for each in gc.get_objects())


def test_writes_of_many_sizes_leave_a_bounded_number_of_parameters(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Fewer than usual, so that few statements exceed them.
    assert MAX_CACHED_PARAMETERS < pools.MAX_CACHED_PARAMETERS
    monkeypatch.setattr(pools, "MAX_CACHED_PARAMETERS", MAX_CACHED_PARAMETERS)
    rendered.forget()
    _settings, database = make_database(tmp_path)
    before = _parameters()
    with database.writer.connect() as conn:
        for size in SIZES:
            rows = [
                {
                    "consumer_id": f"consumer {number}",
                    "resource_provider_id": 1,
                    "resource_class_id": 1,
                    "used": 1,
                }
                for number in range(size)
            ]
            allocations.create(rows).execute(conn)
        conn.rollback()
    kept = _parameters() - before
    # What is built, and what is compiled.
    most = COLUMNS * bulk.MAX_CACHED_ROWS + MAX_CACHED_PARAMETERS
    assert COLUMNS * max(SIZES) < kept < most < COLUMNS * sum(SIZES) / 2
    database.dispose()
    rendered.forget()


def test_the_number_of_cached_statements_without_parameters_is_bounded(tmp_path: Path) -> None:
    rendered.forget()
    _settings, database = make_database(tmp_path)
    most = pools.MAX_CACHED_PARAMETERS // pools.MIN_SIZE
    with database.reader.connect() as conn:
        for number in range(most + 100):
            conn.execute(sa.select(sa.literal_column(str(number))))
        cache = conn.get_execution_options()["compiled_cache"]
        assert most - 1 <= len(cache) <= most
    database.dispose()
    rendered.forget()
