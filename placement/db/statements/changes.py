"""Reading the numbered changes of trees, and whether there are new ones."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa

from placement.db import constructs, fragments
from placement.db import tables as t
from placement.db.constructs import Clock
from placement.db.json_rows import JsonRow, JsonRows, parse_each, parse_rows
from placement.db.statement import Query

_provider, _change, _batch, _feed = (
    t.resource_providers,
    t.tree_changes,
    t.change_batches,
    t.change_feed,
)

# -- the feed ----------------------------------------------------------------------------------


# PERF: most providers are roots, so reading an index is slower than reading the table.
_roots = (
    sa.select(fragments.sum_revisions(_provider))
    .where(constructs.without_index(_provider.c.parent_provider_id).is_(None))
    .subquery("roots")
)
_moved = _roots.c.revision_sum != _feed.c.revision_sum
_FEED_COLUMNS = (_feed.c.position, _feed.c.token, _feed.c.numbered_at, Clock().label("clock"))
_STATE = sa.select(JsonRow(*_FEED_COLUMNS, sa.case((_moved, 1), else_=0))).select_from(
    _roots.outerjoin(_feed, _feed.c.id == fragments.FEED_ID)
)


class FeedState(NamedTuple):
    """The latest numbering, and whether there are new changes."""

    # The largest number that was assigned, or None before the first numbering.
    position: int | None
    # The random token of the numbering, or None before the first numbering.
    token: int | None
    # Time of the numbering in milliseconds since 1970, or None before the first numbering.
    numbered_at: int | None
    # The time of the database, in milliseconds since 1970.
    clock: int
    # 1 if the revisions of roots differ from the numbered ones, else 0. It has no meaning before
    # the first numbering.
    moved: int


def state() -> Query:
    """Select one row, a `FeedState`."""
    return Query(_STATE, parse=_parse_states)


def _parse_states(rows: Sequence[Any]) -> list[FeedState]:
    return [FeedState(*row) for row in parse_each(rows)]


_FEED = sa.select(*_FEED_COLUMNS).where(_feed.c.id == fragments.FEED_ID)
_LOCKED_FEED = _FEED.with_for_update()


def feed(*, lock: bool = False) -> Query:
    """Select (position, token, numbered_at, clock) of the feed, if it exists."""
    return Query(_LOCKED_FEED if lock else _FEED, locks=lock)


_CLOCK = sa.select(Clock())


def clock() -> Query:
    """Select the time of the database."""
    return Query(_CLOCK)


# -- reading changes ---------------------------------------------------------------------------

_root_revision = (
    sa.select(sa.func.max(_provider.c.revision))
    .where(constructs.same_identifier(_provider.c.uuid, _change.c.uuid), fragments.IS_ROOT)
    .scalar_subquery()
)
_page = (
    sa.select(
        _change.c.position, _change.c.uuid, _change.c.provider_id, _root_revision.label("revision")
    )
    .where(
        _change.c.position > sa.bindparam("after", type_=_change.c.position.type),
        _change.c.position <= sa.bindparam("until", type_=_change.c.position.type),
    )
    .order_by(_change.c.position)
    .limit(sa.bindparam("size", type_=sa.Integer))
    .subquery("page")
)
_PAGE = sa.select(JsonRows(*_page.c))


class NumberedTree(NamedTuple):
    """A numbered change, and the root that has its UUID now."""

    # The number of the change.
    position: int
    uuid: str
    # Id of the root, or NO_PROVIDER if the change is the deletion of the tree.
    provider_id: int
    # Present revision of the root, or None if no root has the UUID.
    revision: int | None


def page(after: int, until: int, size: int) -> Query:
    """Select the first changes after a position, each a `NumberedTree`."""
    return Query(_PAGE, {"after": after, "until": until, "size": size}, _parse_page)


def _parse_page(rows: Sequence[Any]) -> list[NumberedTree]:
    return [NumberedTree(*row) for row in parse_rows(rows)]


_TOKEN = (
    sa.select(_batch.c.token)
    .where(_batch.c.position >= sa.bindparam("position", type_=_batch.c.position.type))
    .order_by(_batch.c.position)
    .limit(1)
)


def token(position: int) -> Query:
    """Select the token of the numbering that assigned a number, if the token still exists."""
    return Query(_TOKEN, {"position": position})
