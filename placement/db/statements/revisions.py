"""Statements about revisions, which show a reader whether trees have changed."""

from collections.abc import Collection

import sqlalchemy as sa

from placement.db import bulk
from placement.db import tables as t
from placement.db.statement import Queries, Query

_provider = t.resource_providers
_root = _provider.alias("root")

_FOR_PROVIDERS = (
    sa.select(_provider.c.uuid, _root.c.revision)
    .select_from(_provider.outerjoin(_root, _root.c.id == _provider.c.root_provider_id))
    .where(bulk.in_list(_provider.c.uuid))
)


def for_providers(uuids: Collection[str]) -> Queries:
    """Select (uuid, revision of the tree) of providers, or null for a provider without a tree."""
    return bulk.select_by(_FOR_PROVIDERS, uuids)


# Sums instead of an exclusive or: trees that are written together have the same revision, and two
# of these would cancel each other out. In halves, because SQLite's integers have 63 bits.
_HALF = 32
_SUMS = sa.select(
    sa.func.count(),
    # PostgreSQL shifts by an integer only, not by a bigint such as the column's type.
    sa.func.sum(_provider.c.revision.bitwise_rshift(sa.literal(_HALF, sa.Integer()))),
    sa.func.sum(_provider.c.revision.bitwise_and(2**_HALF - 1)),
    sa.func.sum(
        sa.case(
            (sa.and_(_provider.c.parent_provider_id.is_(None), _provider.c.revision == 0), 1),
            else_=0,
        )
    ),
)


def sums() -> Query:
    """Select one row: the number of providers, two sums of their revisions, and a number of roots.

    The last column is the number of roots without a revision. Without providers all sums are null.
    A provider below a root keeps the revision that it had as a root, which does no harm.
    """
    return Query(_SUMS)
