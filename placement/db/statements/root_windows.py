"""Roots in the order of their ids, without a filter.

A filter is not worthwhile, because checking trees in memory is faster. The statement that resolves
the names of a request also returns the first roots. In a damaged database, the row of a root may
have another root. The revision is null in this case.
"""

from typing import Any

import sqlalchemy as sa

from placement.db import tables as t
from placement.db.fragments import Selection, revision_of_root
from placement.db.json_rows import JsonRows, parse_rows, parse_text
from placement.db.statement import Query

KIND = "roots"
FIRST = 64  # number of roots that the statement that resolves names returns

_root = t.resource_providers
_is_root = _root.c.parent_provider_id.is_(None)
_in_order = sa.select(_root.c.id, revision_of_root(_root)).where(_is_root).order_by(_root.c.id)
_window = (
    _in_order.where(_root.c.id > sa.bindparam("after", type_=_root.c.id.type))
    .limit(sa.bindparam("size", type_=sa.Integer))
    .subquery("roots")
)
_NEXT_ROOTS = sa.select(JsonRows(_window.c.id, _window.c.revision))


def next_roots(after: int, size: int) -> Query:
    """Select (id, revision) of the next `size` roots, in the order of ids."""
    return Query(_NEXT_ROOTS, {"after": after, "size": size}, parse=parse_rows)


_block = _root.c.id.bitwise_rshift(8)
_BLOCKS = (
    sa.select(_block, JsonRows(_root.c.id, revision_of_root(_root)))
    .where(_is_root)
    .group_by(_block)
)


def blocks() -> Query:
    """Select (number, text) of blocks of up to 256 roots with consecutive ids.

    The text contains the ids and revisions. While it is the same, no tree of the block changes.
    """
    return Query(_BLOCKS)


def parse_block(text: str) -> list[list[Any]]:
    """Return the (id, revision) rows in the text of a block, except for rows without a revision."""
    return [row for row in parse_text(text) if row[1] is not None]


_first = _in_order.limit(FIRST).subquery("roots")
# A row (`KIND`, 0, text, 0) with the same columns as the rows of `names`. The text contains all
# first roots.
FIRST_ROOTS: Selection = sa.select(
    sa.literal(KIND).label("kind"),
    sa.literal_column("0").label("id"),
    JsonRows(_first.c.id, _first.c.revision).label("text"),
    sa.literal_column("0").label("number"),
)


def parse_first(text: str | None) -> list[list[Any]]:
    """Return the (id, revision) rows in the text of `FIRST_ROOTS`, in the order of ids."""
    return sorted(parse_text(text))


def outermost_roots() -> Query:
    """Select the smallest and the largest root id, or nulls if there are no roots."""
    ends = sa.select(sa.func.min(_root.c.id), sa.func.max(_root.c.id))
    return Query(ends.where(_is_root))
