"""Trees in memory: hosts of one model share equal objects."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.clouds import flat, nested, unequal
from tests.kit.cloud import Cloud
from tests.kit.memory import memory_of_trees


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
