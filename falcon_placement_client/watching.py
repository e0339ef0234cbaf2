"""Follow a cloud: all trees first, and then each tree that changes."""

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

# Seconds between two polls. The service looks for changes at the same interval.
INTERVAL = 1.0
# Number of the poll after which the trees of the first list are confirmed.
CONFIRMING_POLL = 2
_EXPIRED = 410
_UNAVAILABLE = 503


class WatchEvent(StrEnum):
    """The reason why a watched tree is reported."""

    # The tree exists. Reported at the beginning, and again if the service no longer stores all
    # changes.
    LISTED = "listed"
    # The tree is new or its content has changed.
    CHANGED = "changed"
    # No root has this UUID any longer. The providers are deleted or are in other trees.
    GONE = "gone"


class WatchedTree(NamedTuple):
    """A tree that must be read again or removed."""

    # UUID of the root.
    uuid: str
    # The reason why the tree is reported.
    event: WatchEvent


class WatchMethods:
    """The methods of `ReportClient` that follow a cloud."""

    _api: RestApi

    def watch(self, interval: float = INTERVAL) -> Iterator[WatchedTree]:
        """Yield all trees, and then each tree that changes. See `watching.watch`."""
        return watch(self._api, interval)


def watch(api: RestApi, interval: float = INTERVAL) -> Iterator[WatchedTree]:
    """Yield all trees and then, without end, each tree that has changed.

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
        # Request the cursor first, so that changes during the list are reported after it.
        cursor = _patiently(lambda: api.get("/changes", V2)["cursor"], interval)
        listed = _patiently(lambda: _roots(api), interval)
        for uuid in sorted(known - listed):
            yield WatchedTree(uuid, WatchEvent.GONE)
        for uuid in sorted(listed):
            yield WatchedTree(uuid, WatchEvent.LISTED)
        known = listed
        yield from _follow(api, cursor, known, interval)


def _follow(api: RestApi, cursor: str, known: set[str], interval: float) -> Iterator[WatchedTree]:
    """Yield changes until the cursor expires. Update the set of existing roots.

    If a tree is listed and then deleted before the service has numbered it, no change contains the
    tree. The second poll, one interval after the list, numbers the listed trees. A second list then
    shows which of these trees were deleted before.
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
        # The cursor is updated only here, because a watch that is closed must not skip any change.
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
    """Return the result of a request. Repeat the request while the service is not available."""
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
