"""Memory use of the trees of a cloud."""

from __future__ import annotations

import gc
import tracemalloc
from pathlib import Path
from typing import NamedTuple

import sqlalchemy as sa

from placement.api.history import LATEST
from placement.api.operations.candidate_texts import whole_trees
from placement.api.shapes import View
from placement.candidates import TreeCache
from placement.candidates.trees.roots import batches
from placement.candidates.trees.store import TreeStore
from placement.db import tables as t
from placement.runtime.budget import uncharged
from tests.kit.builders import make_database
from tests.kit.cloud import Cloud, write

CHUNK_SIZE = 1000


class Memory(NamedTuple):
    """Bytes for each provider: of cached trees, and of trees with the text of responses."""

    trees: float
    with_text: float


def memory_of_trees(directory: Path, cloud: Cloud) -> Memory:
    """Return the memory that a process keeps after it has shown a whole cloud."""
    _settings, database = make_database(directory)
    with database.writer.begin() as conn:
        write(conn, cloud)
    with database.read_trees() as conn:
        _read(conn, TreeCache(1), most=1)  # exclude objects that are created once
        gc.collect()
        tracemalloc.start()
        cache = TreeCache(10**9)
        _read(conn, cache)
        gc.collect()
        trees = tracemalloc.get_traced_memory()[0]
        _read(conn, cache, show=True)
        gc.collect()
        with_text = tracemalloc.get_traced_memory()[0]
        tracemalloc.stop()
    database.dispose()
    return Memory(trees / cache.size, with_text / cache.size)


def _read(
    conn: sa.Connection, cache: TreeCache, *, show: bool = False, most: int | None = None
) -> None:
    """Read and show all trees, a thousand at a time."""
    provider = t.resource_providers.c
    query = sa.select(provider.id, provider.revision).where(provider.parent_provider_id.is_(None))
    roots = {row.id: row.revision for row in conn.execute(query.limit(most))}
    store = TreeStore(conn, cache, {}, uncharged)
    for batch in batches(roots, CHUNK_SIZE, CHUNK_SIZE):
        trees = store.trees(batch)
        if show:
            whole_trees(trees, View(LATEST))
    conn.execute(sa.select(1))  # PyMySQL keeps the rows of the latest result
