"""Which trees a request can use, and their content, from the database or the cache."""

from placement.candidates.trees.conditions import spanning_terms
from placement.candidates.trees.resolve import ResolvedRequest, resolve_all, resolve_each
from placement.candidates.trees.roots import batches
from placement.candidates.trees.scan import AnchorReader, PlainRoots, Scan
from placement.candidates.trees.sharing import (
    AnchorPools,
    SharingProvider,
    roots_of,
    sharing_in,
    sharing_members,
    sharing_pool,
    untainted,
)
from placement.candidates.trees.store import NO_TREES, TreeCache, TreeStore
from placement.candidates.trees.tuning import DEFAULT_TUNING, SearchTuning
