"""Any tree of providers, or several."""

from __future__ import annotations

from hypothesis import strategies as st

from falcon_placement_client.provider_data import ProviderData, complete_inventories
from falcon_placement_client.provider_tree import TreeSnapshot

AGGREGATES = [f"aaaaaaaa-0000-0000-0000-{number:012}" for number in range(2)]
UUIDS = [f"00000000-0000-0000-0000-{number:012}" for number in range(6)]
RECORDS = st.fixed_dictionaries({"total": st.integers(1, 3)}, optional={"reserved": st.just(1)})
INVENTORIES = st.dictionaries(st.sampled_from(["VCPU", "DISK_GB", "CUSTOM_X"]), RECORDS)


@st.composite
def trees(draw: st.DrawFn) -> TreeSnapshot:
    """Up to six providers in one tree or several, with any contents."""
    uuids = draw(st.permutations(UUIDS))[: draw(st.integers(0, 6))]
    names = draw(st.permutations("abcdef"))
    return TreeSnapshot(
        ProviderData(
            uuid,
            name,
            draw(st.sampled_from([None, *uuids[:place]])),
            complete_inventories(name, draw(INVENTORIES)),
            draw(st.frozensets(st.sampled_from(["CUSTOM_A", "CUSTOM_B"]))),
            draw(st.frozensets(st.sampled_from(AGGREGATES))),
            draw(st.integers(0, 3)),
        )
        for place, (uuid, name) in enumerate(zip(uuids, names, strict=False))
    )
