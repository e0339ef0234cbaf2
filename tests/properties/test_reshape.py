"""Offline reshape of random hosts: the survey predicts the writes, and nothing is lost."""

import io
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from falcon_placement_client.inventory import InventoryRecord
from falcon_placement_client.reshape.reshapefile import (
    Child,
    Move,
    ProviderSelector,
    Rename,
    Transformation,
)
from falcon_placement_client.reshape.run import Reshape
from placement.direct import PlacementDirect
from placement.runtime.progress import Progress, progress
from tests.kit import builders
from tests.kit.engines import share
from tests.kit.service import claim

CLASSES = ("VGPU", "VCPU")
HOST = "11111111-2222-3333-4444-000000000001"

records = st.builds(
    lambda total, reserved, unit, ratio: asdict(
        InventoryRecord(total, min(reserved, total), **unit, allocation_ratio=ratio)
    ),
    st.integers(1, 12),
    st.integers(0, 3),
    st.sampled_from([{}, {"step_size": 2}, {"max_unit": 3}, {"min_unit": 2}]),
    st.sampled_from([1.0, 1.5, 3.0]),
)
stocks = st.dictionaries(st.sampled_from(CLASSES), records, min_size=1)
claims = st.lists(
    st.dictionaries(st.sampled_from(CLASSES), st.integers(1, 6), min_size=1), max_size=5
)
children = st.lists(
    st.sampled_from([{}, {"VGPU": {"total": 2}}, {"VCPU": {"max_unit": 2}}]), min_size=1, max_size=3
)


def transformation(parts: list[dict[str, Any]], split: bool, rename: bool) -> Transformation:
    moved = tuple(
        Child(f"{{name}}-{number}", frozenset(), stated) for number, stated in enumerate(parts)
    )
    steps: list[Any] = [Move(1, ProviderSelector(root=True), CLASSES, moved, split)]
    if rename:
        steps.append(Rename(2, ProviderSelector(), {"VGPU": "PGPU"}))
    return Transformation("file", steps)


def silent() -> Progress:
    return progress("", io.StringIO())


@pytest.mark.parametrize("rename", [False, True], ids=["move", "move-and-rename"])
@settings(
    max_examples=share(25),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(stock=stocks, later=stocks, amounts=claims, parts=children, split=st.booleans())
def test_what_the_survey_lets_pass_the_service_takes(
    tmp_path_factory: pytest.TempPathFactory,
    rename: bool,
    stock: dict[str, Any],
    later: dict[str, Any],
    amounts: list[dict[str, int]],
    parts: list[dict[str, Any]],
    split: bool,
) -> None:
    made = builders.settings(builders.database_url(Path(tmp_path_factory.mktemp("reshape"))))
    with PlacementDirect(made, latest_microversion=True) as client:
        client.post("/resource_providers", json={"name": "host", "uuid": HOST}, raise_exc=True)
        _put_inventories(client, stock)
        for number, each in enumerate(amounts):
            # Hosts that do not fit are rejected.
            uuid = f"cccccccc-0000-0000-0000-{number:012}"
            client.put(f"/allocations/{uuid}", json=claim({HOST: each}))
        # Hosts may be overcommitted, and units may have changed since.
        _put_inventories(client, {name: later.get(name, record) for name, record in stock.items()})
        before = _state(client)
        reshape = Reshape(client, transformation(parts, split, rename))
        survey = reshape.survey(silent())
        assert _state(client) == before
        if survey.complaints:
            assert survey.misfits == 1
            return
        assert reshape.run(silent()) == survey.tally.trees
        after = _state(client)
        assert _sums(after) == _renamed(_sums(before), rename)
        assert reshape.survey(silent()).tally.trees == 0, "nothing is left to do"


def _put_inventories(client: Any, stock: dict[str, Any]) -> None:
    path = f"/resource_providers/{HOST}"
    generation = client.get(path).json()["generation"]
    body = {"resource_provider_generation": generation, "inventories": stock}
    client.put(f"{path}/inventories", json=body, raise_exc=True)


def _state(client: Any) -> tuple[Any, Any]:
    """Return inventories, and the holdings of each consumer, by provider UUID."""
    listed = client.get("/resource_providers").json()["resource_providers"]
    stock, held = {}, {}
    for uuid in (each["uuid"] for each in listed):
        path = f"/resource_providers/{uuid}"
        stock[uuid] = client.get(f"{path}/inventories").json()["inventories"]
        held[uuid] = {
            consumer: record["resources"]
            for consumer, record in client.get(f"{path}/allocations").json()["allocations"].items()
        }
    return stock, held


def _sums(state: tuple[Any, Any]) -> tuple[Counter[Any], Counter[Any]]:
    """Return totals by class and reserved amount, and amounts by consumer and class."""
    totals: Counter[Any] = Counter()
    amounts: Counter[Any] = Counter()
    for inventories in state[0].values():
        for name, record in inventories.items():
            totals[name, "total"] += record["total"]
            totals[name, "reserved"] += record["reserved"]
    for consumers in state[1].values():
        for consumer, resources in consumers.items():
            for name, amount in resources.items():
                amounts[consumer, name] += amount
    return +totals, amounts


def _renamed(
    sums: tuple[Counter[Any], Counter[Any]], rename: bool
) -> tuple[Counter[Any], Counter[Any]]:
    if not rename:
        return sums
    totals, amounts = sums
    return (
        Counter({("PGPU" if k[0] == "VGPU" else k[0], k[1]): n for k, n in totals.items()}),
        Counter({(k[0], "PGPU" if k[1] == "VGPU" else k[1]): n for k, n in amounts.items()}),
    )
