"""What a handler takes and returns: a `Call`, a `Reply`. None touches Falcon's objects."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import format_datetime
from functools import lru_cache, partial
from typing import Any, Protocol

from placement.api.microversion import Microversion
from placement.candidates import DEFAULT_TUNING, SearchTuning, TreeCache
from placement.config import Settings
from placement.db.engine import Database
from placement.objects.revision_cache import CachedText, KindCaches

MAX_TEXT = 16 * 1024 * 1024  # bytes kept of one kind of text


@dataclass(frozen=True, slots=True)
class Service:
    """The collaborators of every handler, made once by the application.

    document: the API at a version, for a client that sees it below a prefix, as JSON. parts: the
    text of parts of providers, by part and version. lists: that of providers in lists, by view.
    """

    settings: Settings
    database: Database
    trees: TreeCache
    document: Callable[[Microversion, str], bytes]
    tuning: SearchTuning = DEFAULT_TUNING
    parts: KindCaches[CachedText] = field(default_factory=partial(KindCaches, 5, MAX_TEXT))
    lists: KindCaches[CachedText] = field(default_factory=partial(KindCaches, 2, MAX_TEXT))


class Rights(Protocol):
    """What the caller of a request may do, besides what its operation needs."""

    def allow(self, rule: str) -> bool:
        """Whether a rule of the policy allows it."""

    def require(self, rule: str) -> None:
        """Raise RequestRefused (403) unless a rule of the policy allows it."""


@dataclass(frozen=True, slots=True)
class Call:
    """One request, as its handler sees it.

    path: the segments that the route names. query_string: as sent; handlers without parameters
    ignore it. body: checked against the operation's schema, None where it takes none. mount: the
    prefix of all paths in links. base: scheme and host, for `Location`. rights: those of the
    caller. url: path and query as sent. known_tags: the entity tags of what the client has
    (`api/tags.py`), or `*`.
    """

    service: Service
    version: Microversion
    path: Mapping[str, str]
    query_string: str
    body: Any
    mount: str
    base: str
    rights: Rights
    url: str = ""
    known_tags: tuple[str, ...] = ()


NOW = "now"


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer: `value` is what the shape of the route's response renders, None where it has none.

    location: path of what was created. changed_at: when what is shown last changed, NOW where
    nothing says; None for an answer that is no representation and has no cache headers. tag: its
    entity tag, if it has one.
    """

    status: int
    value: Any = None
    location: str | None = None
    changed_at: datetime | str | None = None
    tag: str | None = None


def newest(times: Iterable[datetime | None]) -> datetime | str:
    """Return the last of several changes, NOW when there is none."""
    return max((time for time in times if time is not None), default=NOW)


def http_date(changed_at: datetime | str) -> str:
    """Return the value of a Last-Modified header; rows hold times in UTC without saying so."""
    if not isinstance(changed_at, datetime):
        changed_at = datetime.now(UTC)
    return _http_date(changed_at.replace(microsecond=0, tzinfo=UTC))


# PERF: now is one second for many answers, and hosts are often written together.
@lru_cache(maxsize=1024)
def _http_date(second: datetime) -> str:
    return format_datetime(second, usegmt=True)
