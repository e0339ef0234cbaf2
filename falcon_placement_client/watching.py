"""Follows a cloud: its trees at first, and then each tree that changes."""

import logging
import time
from collections.abc import Callable, Iterator
from enum import StrEnum
from functools import partial
from typing import Any, NamedTuple, TypeVar

from falcon_placement_client.answers import RefusedError
from falcon_placement_client.command_client import LostError
from falcon_placement_client.rest import V2, RestApi

LOG = logging.getLogger(__name__)

Result = TypeVar("Result")

# Seconds between two polls, which is how often the service looks for changes.
INTERVAL = 1.0
# The poll after which trees that were listed at the beginning are confirmed.
CONFIRMING_POLL = 2
_EXPIRED = 410
_UNAVAILABLE = 503


class WatchEvent(StrEnum):
    """The reason for which a watched tree is reported."""

    # It exists: at the beginning, and again if the service does not remember all changes.
    LISTED = "listed"
    # Something in it has changed, or it is new.
    CHANGED = "changed"
    # No root has this UUID any more. Its providers are deleted or in other trees.
    GONE = "gone"


class WatchedTree(NamedTuple):
    """A tree to read again, or to forget."""

    # UUID of the root.
    uuid: str
    # The reason for which it is reported.
    event: WatchEvent


class WatchMethods:
    """The methods of `ReportClient` that follow a cloud."""

    _api: RestApi

    def watch(self, interval: float = INTERVAL) -> Iterator[WatchedTree]:
        """Yield all trees, and then each tree that changes, as `watching.watch` does."""
        return watch(self._api, interval)


def watch(api: RestApi, interval: float = INTERVAL) -> Iterator[WatchedTree]:
    """Yield all trees, and then, without end, each tree that has changed.

    A tree may be reported more than once. While the service is not available, the watch waits.

    Args:
        api: the service.
        interval: seconds between two polls.

    Raises:
        ClientError: the service does not support placement 2.0, or refuses a request.
    """
    api.require_v2("watch")
    known: set[str] = set()
    while True:
        # The cursor first: what changes during the list is reported after it.
        cursor = _patiently(lambda: api.get("/changes", V2)["cursor"], interval)
        listed = _patiently(lambda: _roots(api), interval)
        for uuid in sorted(known - listed):
            yield WatchedTree(uuid, WatchEvent.GONE)
        for uuid in sorted(listed):
            yield WatchedTree(uuid, WatchEvent.LISTED)
        known = listed
        yield from _follow(api, cursor, known, interval)


def _follow(api: RestApi, cursor: str, known: set[str], interval: float) -> Iterator[WatchedTree]:
    """Yield changes until the cursor expires; update the set of existing roots.

    A tree that was listed, and deleted before the service had numbered it, is in no change. The
    second poll, an interval after the list, numbers what was listed; then a second list shows which
    of these trees had been deleted before.
    """
    polls = 0
    while True:
        poll = partial(api.get, f"/changes?since={cursor}", V2)
        try:
            answer: Any = _patiently(poll, interval)
        except RefusedError as refusal:
            if refusal.status != _EXPIRED:
                raise
            LOG.info("the changes since the latest poll are not known; listing all trees again")
            return
        for change in answer["changes"]:
            uuid = change["uuid"]
            if change["gone"]:
                known.discard(uuid)
                yield WatchedTree(uuid, WatchEvent.GONE)
            else:
                known.add(uuid)
                yield WatchedTree(uuid, WatchEvent.CHANGED)
        # Only now, because a watch that is closed must not skip any change.
        cursor = answer["cursor"]
        if answer["complete"]:
            polls += 1
            if polls == CONFIRMING_POLL:
                for uuid in sorted(known - _patiently(lambda: _roots(api), interval)):
                    known.discard(uuid)
                    yield WatchedTree(uuid, WatchEvent.GONE)
            time.sleep(interval)


def _roots(api: RestApi) -> set[str]:
    providers = api.pages("limit=1000", V2)
    return {each["uuid"] for each in providers if each["uuid"] == each["root_provider_uuid"]}


def _patiently(request: Callable[[], Result], interval: float) -> Result:
    """Return the result of a request, which is repeated while the service is not available."""
    from keystoneauth1.exceptions import ConnectFailure  # noqa: PLC0415

    while True:
        try:
            return request()
        except RefusedError as refusal:
            if refusal.status != _UNAVAILABLE:
                raise
            LOG.warning("%s", refusal)
        except (LostError, ConnectFailure) as error:
            LOG.warning("%s", error)
        time.sleep(interval)
