"""Follow a cloud: all trees first, and then each tree that changes."""

import logging
import time
from collections.abc import Callable, Iterable, Iterator
from enum import StrEnum
from functools import partial
from typing import Any, NamedTuple, TypeVar
from urllib.parse import quote

from falcon_placement_client.command_client import LostError
from falcon_placement_client.errors import RefusedError
from falcon_placement_client.listing import provider_names
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


class Watch:
    """An iterator over all trees and then, without end, over each tree that has changed.

    A tree may be reported more than once. While the service is not available, the iterator waits.
    """

    def __init__(
        self,
        api: RestApi,
        interval: float = INTERVAL,
        since: str | None = None,
        known: Iterable[str] = (),
    ) -> None:
        self._api = api
        self._interval = interval
        #: The value of `since` for a watch that continues after the trees that were processed
        #: before the latest `next`. None until all trees have been listed.
        self.cursor = since
        self._trees = self._watch(set(known))

    def __iter__(self) -> Iterator[WatchedTree]:
        return self

    def __next__(self) -> WatchedTree:
        return next(self._trees)

    def _watch(self, known: set[str]) -> Iterator[WatchedTree]:
        self._api.require_v2("watch")
        while True:
            if self.cursor is None:
                yield from self._list(known)
            yield from self._follow(known)
            self.cursor = None

    def _list(self, known: set[str]) -> Iterator[WatchedTree]:
        """Yield all trees, and the known trees that do not exist. Update the set."""
        # Request the cursor first, so that changes during the list are reported after it.
        cursor = _patiently(lambda: self._api.get("/changes", V2)["cursor"], self._interval)
        listed = _patiently(lambda: _roots(self._api), self._interval)
        gone = known - listed
        known.clear()
        known |= listed
        for uuid in sorted(gone):
            yield WatchedTree(uuid, WatchEvent.GONE)
        for uuid in sorted(listed):
            yield WatchedTree(uuid, WatchEvent.LISTED)
        self.cursor = cursor

    def _follow(self, known: set[str]) -> Iterator[WatchedTree]:
        """Yield changes until the cursor expires. Update the set of existing roots.

        If a tree is listed and then deleted before the service has numbered it, no change contains
        the tree. The second poll, one interval after the list, numbers the listed trees. A second
        list then shows which of these trees were deleted before.
        """
        polls = 0
        while True:
            poll = partial(self._api.get, f"/changes?since={quote(str(self.cursor))}", V2)
            try:
                response: Any = _patiently(poll, self._interval)
            except RefusedError as refusal:
                if refusal.status != _EXPIRED:
                    raise
                LOG.info("the changes since the latest poll are not known; listing all trees again")
                return
            for change in response["changes"]:
                uuid = change["uuid"]
                if change["gone"]:
                    known.discard(uuid)
                    yield WatchedTree(uuid, WatchEvent.GONE)
                else:
                    known.add(uuid)
                    yield WatchedTree(uuid, WatchEvent.CHANGED)
            # The cursor is updated only here, because a watch that is closed, or continued by
            # another one, must not skip any change.
            self.cursor = response["cursor"]
            if response["complete"]:
                polls += 1
                if polls == CONFIRMING_POLL:
                    for uuid in sorted(
                        known - _patiently(lambda: _roots(self._api), self._interval)
                    ):
                        known.discard(uuid)
                        yield WatchedTree(uuid, WatchEvent.GONE)
                time.sleep(self._interval)


class WatchMethods:
    """The methods of `ReportClient` that follow a cloud."""

    _api: RestApi

    def watch(
        self, interval: float = INTERVAL, since: str | None = None, known: Iterable[str] = ()
    ) -> Watch:
        """Return an iterator over all trees, and then over each tree that changes.

        Args:
            interval: seconds between two polls.
            since: the `cursor` of an earlier watch, after which this one continues. If the service
                no longer stores all changes since then, all trees are listed again.
            known: UUIDs of the roots that the caller stores. They are reported as gone if they are
                not in a list of all trees.

        Raises:
            ClientError: the service does not support placement 2.0, or refuses a request. The
                iterator raises this error.
        """
        return Watch(self._api, interval, since, known)


def watch(api: RestApi, interval: float = INTERVAL) -> Iterator[WatchedTree]:
    """Return an iterator over trees.  See `WatchMethods.watch`."""
    return Watch(api, interval)


def with_names(api: RestApi, trees: Iterable[WatchedTree]) -> Iterator[tuple[WatchedTree, str]]:
    """Yield each tree with the name of its root.

    The name of a tree that is gone is the last known name, or else the UUID.
    """
    names: dict[str, str] = {}
    listed = ""  # the previous tree of the same list
    for tree in trees:
        if tree.event is WatchEvent.CHANGED:
            # The name may have changed as well.
            names[tree.uuid] = provider_names(api)(tree.uuid)
        if tree.event is not WatchEvent.LISTED:
            listed = ""
        else:
            # Trees are listed by UUID. If the cursor expires, another list may follow immediately.
            if tree.uuid <= listed or not listed or tree.uuid not in names:
                names |= {each["uuid"]: each["name"] for each in api.pages("limit=1000", V2)}
                names.setdefault(tree.uuid, tree.uuid)
            listed = tree.uuid
        yield tree, names.get(tree.uuid, tree.uuid)


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
