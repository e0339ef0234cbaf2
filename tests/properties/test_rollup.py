"""Rollups equal the sums of a simple model, on any forest with sharing providers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from placement import inventory
from tests.kit.cloud import SHARING, Cloud, Provider, Stock, aggregate_uuid, provider_uuid, write
from tests.kit.engines import share
from tests.kit.service import Service

STOCKS = st.builds(
    Stock,
    total=st.integers(1, 30),
    reserved=st.integers(0, 12),
    min_unit=st.integers(1, 6),
    max_unit=st.integers(1, 30),
    step_size=st.integers(1, 5),
    allocation_ratio=st.sampled_from([0.5, 1.0, 1.5, 16.0]),
)
PROVIDERS = st.builds(
    Provider,
    stock=st.dictionaries(st.sampled_from(["VCPU", "DISK_GB", "MEMORY_MB"]), STOCKS, max_size=3),
    traits=st.sampled_from([(), (), (SHARING,)]),
    parent=st.integers(1, 12),
    aggregates=st.sets(st.integers(1, 4), max_size=2).map(lambda n: [*map(aggregate_uuid, n)]),
    claims=st.dictionaries(st.sampled_from(["VCPU", "DISK_GB"]), st.integers(1, 9), max_size=1),
)


@st.composite
def clouds(draw: st.DrawFn) -> list[Provider]:
    """Providers, parents before their children; claims fit the inventories of a provider."""
    providers: list[Provider] = []
    for drawn in draw(st.lists(PROVIDERS, min_size=1, max_size=9)):
        parent = (
            drawn.parent if drawn.parent is not None and drawn.parent <= len(providers) else None
        )
        claims = {name: n for name, n in (drawn.claims or {}).items() if name in drawn.stock}
        providers.append(
            Provider(drawn.stock, drawn.traits, parent, drawn.aggregates, claims or None)
        )
    return providers


CONSUMERS = 2  # for each provider with claims


def root_of(providers: Sequence[Provider], number: int) -> int:
    parent = providers[number - 1].parent
    return number if parent is None else root_of(providers, parent)


def is_below(providers: Sequence[Provider], number: int, top: int) -> bool:
    parent = providers[number - 1].parent
    return number == top or (parent is not None and is_below(providers, parent, top))


def sums(providers: Sequence[Provider]) -> dict[str, dict[str, int]]:
    """The totals of these providers."""
    found: dict[str, dict[str, int]] = {}
    for provider in providers:
        for name, stock in provider.stock.items():
            assert isinstance(stock, Stock)
            assert stock.max_unit is not None
            used = CONSUMERS * (provider.claims or {}).get(name, 0)
            room = int((stock.total - stock.reserved) * stock.allocation_ratio)
            could = [
                amount
                for amount in range(stock.min_unit, stock.max_unit + 1)
                if amount % stock.step_size == 0 and used + amount <= room
            ]
            members = {
                "total": stock.total,
                "reserved": stock.reserved,
                "capacity": room,
                "used": used,
                "free": max(0, room - used),
            }
            before = found.setdefault(name, {})
            largest = max([0, before.get("largest", 0), *could])
            for key, amount in members.items():
                before[key] = before.get(key, 0) + amount
            before["largest"] = largest
    return found


def rollup(providers: Sequence[Provider], top: int) -> dict[str, Any]:
    """The expected response for a provider, by its number."""
    numbers = range(1, len(providers) + 1)
    root = root_of(providers, top)
    tree = [number for number in numbers if root_of(providers, number) == root]
    reached = {name for number in tree for name in providers[number - 1].aggregates}
    subtree = [providers[number - 1] for number in numbers if is_below(providers, number, top)]
    sharing = [
        number
        for number in numbers
        if number not in tree
        and SHARING in providers[number - 1].traits
        and not reached.isdisjoint(providers[number - 1].aggregates)
    ]
    return {
        "providers": len(subtree),
        "resources": sums(subtree),
        "sharing": {
            provider_uuid(number): {"resources": sums([providers[number - 1]])}
            for number in sharing
        },
    }


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with Service(tmp_path_factory.mktemp("rollup")) as service:
        yield service


@settings(
    max_examples=share(150),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(providers=clouds())
def test_a_rollup_is_what_a_plain_model_sums_up(
    service: Service, providers: list[Provider]
) -> None:
    with service.database.writer.connect() as conn:
        write(conn, Cloud("rollup", lambda: providers, CONSUMERS))
        conn.commit()
    try:
        for number in range(1, len(providers) + 1):
            answer = service.get(f"/resource_providers/{provider_uuid(number)}/rollup", "2.0")
            assert answer == rollup(providers, number)
    finally:
        forget(service)


def forget(service: Service) -> None:
    """Delete the data of the cloud."""
    with service.database.writer.begin() as conn:
        for table in ("allocations", "consumers", "resource_provider_aggregates"):
            conn.exec_driver_sql(f"DELETE FROM {table}")
        for table in ("resource_provider_traits", "inventories", "projects", "users"):
            conn.exec_driver_sql(f"DELETE FROM {table}")
        conn.exec_driver_sql("UPDATE resource_providers SET parent_provider_id = NULL")
        conn.exec_driver_sql("UPDATE resource_providers SET root_provider_id = NULL")
        conn.exec_driver_sql("DELETE FROM resource_providers")


@given(
    st.builds(
        inventory.Stock,
        st.integers(-5, 60),
        st.integers(0, 60),
        st.integers(1, 12),
        st.integers(1, 60),
        st.integers(1, 12),
    )
)
def test_the_largest_amount_is_the_last_one_that_fits(stock: inventory.Stock) -> None:
    amounts = [amount for amount in range(1, 70) if inventory.fits(stock, amount)]
    assert inventory.largest(stock) == max(amounts, default=0)
