"""Events inside the service that are worth counting: one seam for logs and metrics.

Code reports an event here and knows nothing of the listeners. With debug logging each event is a
line of the logger `placement.events`; `placement.metrics` listens and counts.
"""

import logging
from collections.abc import Callable, Mapping
from enum import StrEnum

LOG = logging.getLogger(__name__)


class Event(StrEnum):
    """What happened; its details are named here.

    REQUEST: operation (its public id, "other" where none was reached), version (None where none was
    negotiated), method, path, status, seconds, length (bytes of the body), statements, slow.
    SEARCH: candidates, bound (the option that cut the answer short, or None), and the fields of
    `candidates.search.SearchStats`.
    TREES: cached and loaded: trees that were in memory, and that were read; kept: providers in
    memory since.
    RETRY: attempt: how often the write has failed before it is run again; cause, which is a
    `db.retries.Cause`.
    CLAIM: consumers; tries: candidates that were tried until they got what they asked for.
    CONFLICT: code of the error that a client is told.
    LOST_COMMIT: happened, of a COMMIT whose outcome had to be found out; None: it was not.
    CONNECTION: pool (read or write), seconds for which a transaction had a connection of it.
    NO_CONNECTION: pool, of which no connection could be had in time.
    """

    REQUEST = "request"
    SEARCH = "search"
    TREES = "trees"
    RETRY = "retry"
    CLAIM = "claim"
    CONFLICT = "conflict"
    LOST_COMMIT = "lost_commit"
    CONNECTION = "connection"
    NO_CONNECTION = "no_connection"


Details = Mapping[str, object]
Listener = Callable[[Event, Details], None]

_listeners: list[Listener] = []


def listen(listener: Listener) -> Callable[[], None]:
    """Tell the listener of every event, on the thread where it happens; return what ends that."""
    _listeners.append(listener)
    return lambda: _listeners.remove(listener)


def tell(event: Event, **details: object) -> None:
    """Tell all listeners of an event. A listener's fault is logged, and harms nobody else."""
    if LOG.isEnabledFor(logging.DEBUG):
        LOG.debug("%s: %s", event, " ".join(f"{name}={value}" for name, value in details.items()))
    for listener in tuple(_listeners):  # another thread may end its own meanwhile
        try:
            listener(event, details)
        except Exception:
            LOG.exception("a listener to %s failed", event)
