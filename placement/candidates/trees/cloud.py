"""Read all trees of the cloud, for simulations on copies of the trees."""

from sqlalchemy.engine import Connection

from placement import deadline
from placement.candidates.budget import uncharged
from placement.candidates.model import Tree
from placement.candidates.trees.roots import PlainRoots, batches
from placement.candidates.trees.store import TreeCache, TreeStore
from placement.candidates.tuning import SearchTuning


def read_cloud(conn: Connection, cache: TreeCache, tuning: SearchTuning) -> list[Tree]:
    """Return all trees, ordered by the ids of their roots.

    Args:
        conn: a connection with one snapshot.
        cache: cached trees.
        tuning: sizes of the reads.

    Raises:
        DeadlineExceeded: the deadline was reached.
    """
    store = TreeStore(conn, cache, {}, uncharged)
    trees: list[Tree] = []
    for roots in PlainRoots(conn, None).windows(tuning.largest_window):
        for batch in batches(roots, tuning.largest_batch, tuning.largest_batch):
            deadline.check()
            trees += store.trees(batch)
    return trees
