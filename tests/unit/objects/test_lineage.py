"""The root of each provider, from the parents alone."""

from hypothesis import given
from hypothesis import strategies as st

from placement.objects import lineage

PARENTS = st.dictionaries(st.integers(1, 12), st.none() | st.integers(1, 14), max_size=12)


def climb(parents: dict[int, int | None], provider: int) -> int | None:
    """The root, one step at a time; None where the chain never ends."""
    for _ in range(len(parents) + 1):
        parent = parents[provider]
        if parent is None or parent not in parents:
            return provider
        provider = parent
    return None


@given(PARENTS)
def test_every_chain_leads_to_its_root(parents: dict[int, int | None]) -> None:
    traced = lineage.trace(parents)
    for provider in parents:
        root = climb(parents, provider)
        assert traced.roots.get(provider) == root
        assert (provider in traced.cyclic) == (root is None)
    missing = {each for each, parent in parents.items() if parent not in {None, *parents}}
    assert traced.orphans == missing


def test_a_chain_into_a_circle_is_part_of_the_fault() -> None:
    traced = lineage.trace({1: None, 2: 1, 3: 4, 4: 3, 5: 4, 6: 99})
    assert traced.roots == {1: 1, 2: 1, 6: 6}
    assert traced.cyclic == {3, 4, 5}
    assert traced.orphans == {6}
