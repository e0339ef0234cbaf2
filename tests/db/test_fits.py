"""The rule for fitting amounts is the same in SQL and in Python."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from placement import inventory
from placement.db import fragments
from placement.db import tables as t
from placement.db.engine import Database
from placement.inventory import Stock
from tests.kit.builders import make_database
from tests.kit.service import Service

UNIT = st.integers(1, 20)


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    _settings, made = make_database(tmp_path_factory.mktemp("fits"))
    yield made
    made.dispose()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    st.integers(1, 40), st.integers(0, 10), st.floats(0, 20), st.integers(0, 40), UNIT, UNIT, UNIT,
    st.integers(1, 40),
)  # fmt: skip
def test_sql_and_python_agree(
    database: Database,
    total: int,
    reserved: int,
    ratio: float,
    used: int,
    least: int,
    most: int,
    step: int,
    amount: int,
) -> None:
    stock = Stock(inventory.capacity(total, reserved, ratio), used, least, most, step)
    with database.writer.connect() as conn:
        conn.execute(
            sa.insert(t.inventories).values(
                id=1, resource_provider_id=1, resource_class_id=1, total=total, reserved=reserved,
                allocation_ratio=ratio, **stock._asdict(),
            )
        )  # fmt: skip
        query = sa.select(t.inventories.c.id).where(fragments.fits(t.inventories, amount))
        found = conn.execute(query).first() is not None
        conn.rollback()
    assert found == inventory.fits(stock, amount)
    # Amounts are whole, so the integer says what the real number says.
    exact = used + amount <= (total - reserved) * ratio
    assert (used + amount <= stock.capacity) == exact


@pytest.mark.parametrize(
    ("total", "reserved", "ratio", "expected"),
    [
        (10, 1, 1.5, 13),
        (100, 0, 0.57, 56),
        (1, 2, 1.0, -1),
        (1, 2, 0.5, 0),
        (2**31 - 1, 0, 3.4e38, 2**63 - 1),
        (1, 2**31 - 1, 3.4e38, 1 - 2**63),
    ],
)
def test_capacity_is_whole_and_bounded(
    total: int, reserved: int, ratio: float, expected: int
) -> None:
    assert inventory.capacity(total, reserved, ratio) == expected


def test_a_ratio_that_a_database_rounds_makes_no_negative_capacity(tmp_path: Path) -> None:
    uuid = "00000000-0000-4000-8000-000000000001"
    record = {"total": 8, "reserved": 9, "allocation_ratio": 1 - 1e-12}
    with Service(tmp_path) as service:
        service.expect(200, "POST", "/resource_providers", {"name": "host", "uuid": uuid})
        body = {"resource_provider_generation": 0, "inventories": {"VCPU": record}}
        service.send("PUT", f"/resource_providers/{uuid}/inventories", body)
        with service.database.read() as conn:
            capacities = conn.execute(sa.select(t.inventories.c.capacity)).scalars()
            assert min(capacities, default=0) >= 0
