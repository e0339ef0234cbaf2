"""What was made of providers, or of a part of them, kept while their trees are unchanged.

As with trees (`candidates/tree_cache.py`), what has the revision that was read in the request's own
snapshot is true; anything else is replaced. The revision 0 says nothing, so nothing is kept of it.
"""

import threading
from collections import OrderedDict
from collections.abc import Hashable, Iterable, Mapping
from typing import Any, NamedTuple

MOST = 16 * 1024 * 1024  # bytes of one kind
KINDS = 5


class _Kept(NamedTuple):
    revision: int
    value: Any
    size: int


class _Shelf:
    """Values of one kind, up to a number of bytes; the first that came goes first."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: dict[int, _Kept] = {}
        self._size = 0
        self._lock = threading.Lock()

    def known(self, revisions: Mapping[int, int]) -> dict[int, Any]:
        values = {}
        for provider_id, revision in revisions.items():
            kept = self._kept.get(provider_id)
            if kept is not None and kept.revision == revision:
                values[provider_id] = kept.value
        return values

    def keep(self, values: Iterable[tuple[int, _Kept]]) -> None:
        with self._lock:
            for provider_id, kept in values:
                if kept.revision:
                    self._forget(provider_id)
                    self._kept[provider_id] = kept
                    self._size += kept.size
            while self._size > self._most:
                self._forget(next(iter(self._kept)))

    def _forget(self, provider_id: int) -> None:
        kept = self._kept.pop(provider_id, None)
        if kept is not None:
            self._size -= kept.size


class PartCache:
    """Values by kind (a part, at a version) and provider, shared by a process's threads."""

    def __init__(self, most: int = MOST, kinds: int = KINDS) -> None:
        """`most`: bytes of each kind. kinds: how many are kept, those that were used last."""
        self._most = most
        self._kinds = kinds
        self._shelves: OrderedDict[Hashable, _Shelf] = OrderedDict()
        self._lock = threading.Lock()

    def known(self, kind: Hashable, revisions: Mapping[int, int]) -> dict[int, Any]:
        """Return provider id -> value, of those whose value has the revision of their tree."""
        return self._shelf(kind).known(revisions)

    def keep(
        self, kind: Hashable, revisions: Mapping[int, int], values: Mapping[int, tuple[Any, int]]
    ) -> dict[int, Any]:
        """Keep values, each with its size in bytes, of the providers whose revision is known.

        Values that together are too large are not kept: the next ones would only be these again.
        Returns them without the sizes.
        """
        if sum(size for _value, size in values.values()) <= self._most:
            self._shelf(kind).keep(
                (provider_id, _Kept(revisions[provider_id], value, size))
                for provider_id, (value, size) in values.items()
                if provider_id in revisions
            )
        return {provider_id: value for provider_id, (value, _size) in values.items()}

    def _shelf(self, kind: Hashable) -> _Shelf:
        with self._lock:
            if kind not in self._shelves:
                self._shelves[kind] = _Shelf(self._most)
            self._shelves.move_to_end(kind)
            if len(self._shelves) > self._kinds:
                self._shelves.popitem(last=False)
            return self._shelves[kind]
