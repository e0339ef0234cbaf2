"""What was made of providers, or of a part of them, kept while their trees are unchanged.

As with trees (`candidates/trees/cache.py`), what has the revision that was read in the request's
own snapshot is true; anything else is replaced. The revision 0 says nothing, so nothing is kept of
it.
"""

import threading
from collections import OrderedDict
from collections.abc import Hashable, Mapping
from operator import attrgetter
from typing import Any, NamedTuple

from placement.bounded import Bounded

MOST = 16 * 1024 * 1024  # bytes of one kind
KINDS = 5


class _Entry(NamedTuple):
    revision: int
    value: Any
    size: int


class PartCache:
    """Values by kind (a part, at a version) and provider, shared by a process's threads."""

    def __init__(self, most: int = MOST, kinds: int = KINDS) -> None:
        """`most`: bytes of each kind. kinds: how many are kept, those that were used last."""
        self._most = most
        self._kinds = kinds
        self._shelves: OrderedDict[Hashable, Bounded[_Entry]] = OrderedDict()
        self._lock = threading.Lock()

    def known(self, kind: Hashable, revisions: Mapping[int, int]) -> dict[int, Any]:
        """Return provider id -> value, of those whose value has the revision of their tree."""
        shelf = self._shelf(kind)
        values = {}
        for provider_id, revision in revisions.items():
            entry = shelf.get(provider_id)
            if entry is not None and entry.revision == revision:
                values[provider_id] = entry.value
        return values

    def keep(
        self, kind: Hashable, revisions: Mapping[int, int], values: Mapping[int, tuple[Any, int]]
    ) -> dict[int, Any]:
        """Keep values, each with its size in bytes, of the providers whose revision is known.

        Values that together are too large are not kept: the next ones would only be these again.
        Returns them without the sizes.
        """
        if sum(size for _value, size in values.values()) <= self._most:
            shelf = self._shelf(kind)
            for provider_id, (value, size) in values.items():
                if revisions.get(provider_id):
                    shelf[provider_id] = _Entry(revisions[provider_id], value, size)
        return {provider_id: value for provider_id, (value, _size) in values.items()}

    def _shelf(self, kind: Hashable) -> Bounded[_Entry]:
        with self._lock:
            if kind not in self._shelves:
                self._shelves[kind] = Bounded(self._most, attrgetter("size"))
            self._shelves.move_to_end(kind)
            if len(self._shelves) > self._kinds:
                self._shelves.popitem(last=False)
            return self._shelves[kind]
