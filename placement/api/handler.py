"""The interface of handlers. Handlers take a `Call`, return a `Reply`, and do not use Falcon."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import format_datetime
from functools import lru_cache, partial
from typing import Any, Concatenate, NamedTuple, ParamSpec, Protocol, TypeVar

from sqlalchemy.engine import Connection

from placement.api.history import Microversion
from placement.candidates import DEFAULT_TUNING, Order, SearchTuning, TreeCache
from placement.config import Settings
from placement.db.engine import Database
from placement.objects.revision_cache import BlockCache, CachedText, KindCaches, RevisionCache
from placement.runtime.turns import ExclusiveWork, LargeResponses

P = ParamSpec("P")
T = TypeVar("T")

MAX_TEXT = 16 * 1024 * 1024  # bytes cached of one kind of text


@dataclass(frozen=True, slots=True)
class Service:
    """The objects that all handlers share. The application creates them once."""

    settings: Settings
    database: Database
    # Cached trees of providers for searches.
    trees: TreeCache
    # Returns the OpenAPI document as JSON, at a version and below a path prefix.
    document: Callable[[Microversion, str], bytes]
    # Window and cache sizes of searches. They do not affect the results.
    tuning: SearchTuning = DEFAULT_TUNING
    # The order of hosts in limited searches at 1.x.
    order: Order = ()
    # Texts of parts of providers, by part and version.
    parts: KindCaches[RevisionCache[CachedText]] = field(
        default_factory=partial(KindCaches, 5, partial(RevisionCache, MAX_TEXT))
    )
    # Texts of providers in lists, by view.
    lists: KindCaches[BlockCache[CachedText]] = field(
        default_factory=partial(KindCaches, 2, partial(BlockCache, MAX_TEXT))
    )
    # Turns of expensive requests. A process executes only one such request at a time.
    large_work: ExclusiveWork = field(default_factory=ExclusiveWork)
    # Turns of requests whose responses are large.
    large_responses: LargeResponses = field(default_factory=LargeResponses)


class Rights(Protocol):
    """Rights of the caller beyond the operation itself."""

    def allow(self, rule: str) -> bool:
        """Return whether a rule of the policy allows it."""

    def require(self, rule: str) -> None:
        """Raise RequestRefused (403) unless a rule of the policy allows it."""


class Call(NamedTuple):
    """One request in the form that handlers receive."""

    # The collaborators of the handler.
    service: Service
    version: Microversion
    # Variables of the route's path.
    path: Mapping[str, str]
    # The query as sent. Handlers without parameters ignore it.
    query_string: str
    # Body after validation with the schema of the operation, or None if the operation takes no
    # body.
    body: Any
    # Prefix of all paths in links.
    mount: str
    rights: Rights
    # Path and query as sent.
    url: str = ""
    # Entity tags that the client has cached (`api/tags.py`), or `*`.
    known_tags: tuple[str, ...] = ()

    def write(
        self, work: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Execute work in one write transaction, and return its result."""
        return self.service.database.write(lambda conn: work(conn, *args, **kwargs))

    def read_one(
        self, work: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Execute work, which consists of one statement, and return its result."""
        return self.service.database.read_one(lambda conn: work(conn, *args, **kwargs))


# Value of `Reply.changed_at` that means the current time.
NOW = "now"


class Reply(NamedTuple):
    """The response of a handler."""

    status: int
    # Value that the shape of the route's response renders, or None if the response has no body.
    value: Any = None
    # Path of the created object, or None if none was created.
    location: str | None = None
    # Last modification of the returned object, NOW if unknown, or None for no cache headers.
    changed_at: datetime | str | None = None
    # Entity tag, or None if the response has none.
    tag: str | None = None
    # Whether clients may store the response.
    storable: bool = True


def newest(times: Iterable[datetime | None]) -> datetime | str:
    """Return the latest of several times, or NOW if there is none."""
    return max((time for time in times if time is not None), default=NOW)


def http_date(changed_at: datetime | str) -> str:
    """Return the value of a Last-Modified header. Rows contain times in UTC without a time zone."""
    if not isinstance(changed_at, datetime):
        changed_at = datetime.now(UTC)
    return _http_date(changed_at.replace(microsecond=0, tzinfo=UTC))


# PERF: many responses contain the current second, and many hosts are written at the same time.
@lru_cache(maxsize=1024)
def _http_date(second: datetime) -> str:
    return format_datetime(second, usegmt=True)
