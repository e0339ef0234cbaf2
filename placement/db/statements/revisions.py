"""Revisions. They show readers whether trees have changed."""

from collections.abc import Collection

import sqlalchemy as sa

from placement.db import bulk
from placement.db import tables as t
from placement.db.fragments import IS_ROOT
from placement.db.statement import Queries, Query

_provider = t.resource_providers
_root = _provider.alias("root")

_FOR_PROVIDERS = (
    sa.select(_root.c.id, _root.c.revision)
    .select_from(_provider.join(_root, _root.c.id == _provider.c.root_provider_id))
    .where(bulk.in_list(_provider.c.uuid))
)


def for_providers(uuids: Collection[str]) -> Queries:
    """Select (root id, revision) of the trees of providers."""
    return bulk.select_by(_FOR_PROVIDERS, uuids, parse=list)


# Sums are used instead of XOR. Trees that are written together have the same revision,
# and two equal revisions would cancel each other out. The sums are of halves, because SQLite's
# integers have 63 bits.
_HALF = 32
_SUMS = sa.select(
    sa.func.count(),
    # PostgreSQL can shift only by an integer, not by a bigint, which is the type of the column.
    sa.func.sum(_provider.c.revision.bitwise_rshift(sa.literal(_HALF, sa.Integer()))),
    sa.func.sum(_provider.c.revision.bitwise_and(2**_HALF - 1)),
    sa.func.sum(sa.case((sa.and_(IS_ROOT, _provider.c.revision == 0), 1), else_=0)),
)


def sums() -> Query:
    """Select one row: the number of providers, two sums of their revisions, and a number of roots.

    The last column is the number of roots without a revision. Without providers all sums are null.
    A provider below a root keeps the revision that it had as a root, which does no harm.
    """
    return Query(_SUMS)
