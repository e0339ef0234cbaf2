"""Revisions: by them a reader knows whether anything has changed."""

from collections.abc import Collection

import sqlalchemy as sa

from placement.db import bulk
from placement.db import tables as t
from placement.db.statement import Queries, Query

_provider = t.resource_providers
_root = _provider.alias("root")

_OF_PROVIDERS = (
    sa.select(_provider.c.uuid, _root.c.revision)
    .select_from(_provider.outerjoin(_root, _root.c.id == _provider.c.root_provider_id))
    .where(bulk.in_list(_provider.c.uuid))
)


def of_providers(uuids: Collection[str]) -> Queries:
    """Select (uuid, revision of its tree) of providers; null for one that is in no tree."""
    return bulk.select_by(_OF_PROVIDERS, uuids)


# Sums, and not an exclusive or: trees that are written together have the same revision, and two
# of them would cancel each other out. In halves, for SQLite's integers end at 63 bits.
_HALF = 32
_SUMS = sa.select(
    sa.func.count(),
    # PostgreSQL shifts by an integer, and by none of the column's size.
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
    """Select one row: how many providers there are, two sums over their revisions, and one more.

    That is how many roots have no revision. Without providers all sums are null. Providers below a
    root have the one that they had when they were a root themselves, which changes nothing.
    """
    return Query(_SUMS)
