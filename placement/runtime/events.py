"""Events in the service, which are logged and counted as metrics.

Code emits an event with this module and does not know the listeners. With debug logging, the logger
`placement.runtime.events` writes a line for each event. `placement.metrics` listens to the events
and counts them.
"""

import logging
from collections.abc import Callable, Mapping
from enum import StrEnum

LOG = logging.getLogger(__name__)


class Event(StrEnum):
    """What happened, with the details that each event has.

    REQUEST: operation (its public id, "other" if none was reached), version (None if none was
    negotiated), method, path, status, seconds, length (bytes of the body), statements, slow.
    SEARCH: candidates, bound (the option that cut the response short, or None), and the fields of
    `candidates.search.SearchStats`.
    REFUSAL: code: a `candidates.model.Refusal`, for a response without candidates.
    TREES: cached: trees found in memory; loaded: trees read from the database; kept: providers in
    memory afterwards.
    RETRY: attempt: how many attempts of the write have failed; cause: a `db.retries.Cause`.
    CLAIM: consumers; tries: candidates that were tried, including the one that was claimed.
    CONFLICT: code of the error that the client gets.
    LOST_COMMIT: happened: whether a COMMIT without a known outcome happened. None means unknown.
    CONNECTION: pool (read or write); seconds for which a transaction held one of its connections.
    NO_CONNECTION: pool that had no connection in time.
    """

    REQUEST = "request"
    SEARCH = "search"
    REFUSAL = "refusal"
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
    """Call the listener for each event, on the thread that emits it.

    Return a function that stops this.
    """
    _listeners.append(listener)
    return lambda: _listeners.remove(listener)


def emit(event: Event, **details: object) -> None:
    if LOG.isEnabledFor(logging.DEBUG):
        LOG.debug("%s: %s", event, " ".join(f"{name}={value}" for name, value in details.items()))
    for listener in tuple(_listeners):  # another thread may concurrently remove its own listener
        try:
            listener(event, details)
        except Exception:
            LOG.exception("a listener to %s failed", event)
