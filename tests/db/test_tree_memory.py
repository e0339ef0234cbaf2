"""Trees in memory: hosts of one model share equal objects."""

from __future__ import annotations

import gc
from pathlib import Path

import pytest

from bench.clouds import flat, nested, unequal
from bench.scenarios import FLAT
from placement.candidates.trees.roots import OpenRoots
from tests.kit.cloud import Cloud, load
from tests.kit.memory import memory_of_trees
from tests.kit.search import Searcher


@pytest.mark.parametrize(
    ("cloud", "trees", "with_text"),
    [(flat(1500), 550, 950), (nested(250), 300, 600), (unequal(1500), 1200, 1600)],
    ids=lambda value: value.name if isinstance(value, Cloud) else None,
)
def test_a_provider_takes_few_bytes(
    tmp_path: Path, cloud: Cloud, trees: int, with_text: int
) -> None:
    memory = memory_of_trees(tmp_path, cloud)
    assert 0 < memory.trees < trees
    assert memory.trees < memory.with_text < with_text


def test_a_search_leaves_no_roots_to_the_garbage_collector(tmp_path: Path) -> None:
    def roots() -> int:
        return sum(isinstance(each, OpenRoots) for each in gc.get_objects())

    searcher = Searcher(tmp_path)
    load(searcher.database.writer, flat(50))
    searcher.find(FLAT)
    gc.collect()
    before = roots()
    gc.disable()
    try:
        assert len(searcher.find(FLAT).result.candidates) == 50
        assert roots() == before
    finally:
        gc.enable()
