"""In-memory cache of data about trees and providers, valid at one revision of their tree.

Every change in a tree gives the tree a new revision, so entries do not have to be invalidated. A
request that has read another revision does not find the entry, and replaces it. Revisions have no
order. Entries with the revision `revisions.UNKNOWN` are never cached, because their content may be
of any revision.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Collection, Hashable, Mapping
from datetime import datetime
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from placement.objects.revisions import UNKNOWN


class Revisioned(Protocol):
    """A value that is valid at one revision of a tree."""

    @property
    def revision(self) -> int:
        """The revision of the content, or UNKNOWN."""

    @property
    def size(self) -> int:
        """The constant size of the entry, in the unit of the cache's limit."""


class CachedText(NamedTuple):
    """The rendered text of a provider in lists, or of a part of it."""

    # JSON in the form of the renderer.
    text: Any
    # Revision of the tree.
    revision: int
    # Size in bytes, including the objects that hold the text.
    size: int
    # Time of the provider's latest change, or None if it has none, or for the text of a part.
    changed_at: datetime | None = None


Entry = TypeVar("Entry", bound=Revisioned)
Kind = TypeVar("Kind", bound=Hashable)

# Loads the entries of ids with these revisions. Some may no longer exist, and other entries may be
# included. Each entry has the revision that its content is known to be of.
Load = Callable[[Mapping[int, int]], Mapping[int, Entry]]
# The same for several kinds.
LoadKinds = Callable[[Mapping[int, int], Collection[Kind]], Mapping[Kind, Mapping[int, Entry]]]


class RevisionCache(Generic[Entry]):
    """An LRU cache of entries of one kind by id, shared by the threads of a process.

    The order of use is only tracked while the cache is more than half full.
    """

    def __init__(self, max_size: int) -> None:
        """max_size: maximum sum of the sizes of the entries."""
        self._max_size = max_size
        self._size = 0
        self._entries: OrderedDict[int, Entry] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def size(self) -> int:
        """The sum of the sizes of the entries."""
        return self._size

    def read(self, revisions: Mapping[int, int], load: Load[Entry]) -> dict[int, Entry]:
        """Return the entries with these revisions, from memory or by one call of `load`.

        Entries that were loaded at another revision are returned, too, but not cached.
        """

        def load_one(missing: Mapping[int, int], _: object) -> Mapping[None, Mapping[int, Entry]]:
            return {None: load(missing)}

        return read_kinds({None: self}, revisions, load_one)[None]

    def get(self, revisions: Mapping[int, int]) -> dict[int, Entry]:
        """Return id -> entry of the cached entries with exactly these revisions."""
        entries: dict[int, Entry] = {}
        with self._lock:
            known, use = self._entries.get, self._entries.move_to_end
            # PERF: the order of use is only needed if entries will be evicted.
            in_order = 2 * self._size > self._max_size
            for entry_id, revision in revisions.items():
                entry = known(entry_id)
                if entry is not None and entry.revision == revision:
                    entries[entry_id] = entry
                    if in_order:
                        use(entry_id)
        return entries

    def put(self, entries: Mapping[int, Entry]) -> None:
        """Cache entries, replace others with the same ids, and evict the least recently used.

        Entries that exceed the limit together are not cached: each would evict the one before.
        """
        if sum([entry.size for entry in entries.values()]) > self._max_size:
            return
        with self._lock:
            for entry_id, entry in entries.items():
                if entry.revision != UNKNOWN:
                    self._put(entry_id, entry)
            while self._size > self._max_size:
                _id, oldest = self._entries.popitem(last=False)
                self._size -= oldest.size

    def _put(self, entry_id: int, entry: Entry) -> None:
        before = self._entries.get(entry_id)
        if before is not None:
            if before.revision == entry.revision:
                return  # keep the cached one, and what was derived from it
            self._size -= before.size
        self._entries[entry_id] = entry
        self._entries.move_to_end(entry_id)
        self._size += entry.size


def read_kinds(
    caches: Mapping[Kind, RevisionCache[Entry]],
    revisions: Mapping[int, int],
    load: LoadKinds[Kind, Entry],
) -> dict[Kind, dict[int, Entry]]:
    """Return the entries of each kind as `RevisionCache.read` does, by one call of `load`."""
    entries = {kind: cache.get(revisions) for kind, cache in caches.items()}
    kinds = [kind for kind in caches if len(entries[kind]) < len(revisions)]
    if not kinds:
        return entries
    missing: dict[int, int] = {}
    for kind in kinds:
        known = entries[kind]
        missing |= {each: revision for each, revision in revisions.items() if each not in known}
    for kind, loaded in load(missing, kinds).items():
        entries[kind] |= loaded
        caches[kind].put(_only_at(revisions, loaded))
    return entries


def _only_at(revisions: Mapping[int, int], entries: Mapping[int, Entry]) -> dict[int, Entry]:
    """Return the entries that have these revisions."""
    return {
        entry_id: entry
        for entry_id, entry in entries.items()
        if entry.revision == revisions.get(entry_id)
    }


class KindCaches(Generic[Entry]):
    """An LRU cache of caches, one for each kind."""

    def __init__(self, max_kinds: int, max_size: int) -> None:
        """max_size: maximum size of the cache of one kind."""
        self._max_kinds = max_kinds
        self._max_size = max_size
        self._caches: OrderedDict[Any, RevisionCache[Entry]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, kind: Hashable) -> RevisionCache[Entry]:
        """Return the cache of a kind."""
        with self._lock:
            if kind not in self._caches:
                self._caches[kind] = RevisionCache(self._max_size)
            self._caches.move_to_end(kind)
            if len(self._caches) > self._max_kinds:
                self._caches.popitem(last=False)
            return self._caches[kind]
