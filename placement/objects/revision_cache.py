"""What was made of trees and providers, kept in memory while their trees have its revision.

Every change of anything in a tree gives the tree a revision that it never had. So no entry is ever
invalidated: a request that has seen another revision does not find the entry, loads its own, and
puts that in its place. Revisions have no order. An entry at `revisions.UNKNOWN` is never kept: its
content is not known to be that of any revision.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Collection, Hashable, Mapping
from datetime import datetime
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from placement.objects.revisions import UNKNOWN


class Revisioned(Protocol):
    """A value that is true at one revision of a tree."""

    @property
    def revision(self) -> int:
        """The revision whose content this is, or UNKNOWN."""

    @property
    def size(self) -> int:
        """What it counts for in the bound of a cache, always the same number."""


class KeptText(NamedTuple):
    """The text of a provider in lists, or of a part of it."""

    # JSON, as whatever it is rendered with takes it.
    text: Any
    revision: int
    # In bytes, with what holds the text.
    size: int
    # Of the provider; None: never changed, or text of a part.
    changed_at: datetime | None = None


Entry = TypeVar("Entry", bound=Revisioned)
Kind = TypeVar("Kind", bound=Hashable)

# Loads the entries of ids that were seen at these revisions. Some may be gone since, and entries of
# other ids may come with them. Each states the revision that its content is known to be of.
Load = Callable[[Mapping[int, int]], Mapping[int, Entry]]
# Does so for each of these kinds.
LoadKinds = Callable[[Mapping[int, int], Collection[Kind]], Mapping[Kind, Mapping[int, Entry]]]


class RevisionCache(Generic[Entry]):
    """Entries of one kind by id, those used last; shared by the threads of a process.

    The order of use is kept from the time on when it is half full.
    """

    def __init__(self, max_size: int) -> None:
        """max_size: of all entries together, in the unit of their sizes."""
        self._max_size = max_size
        self._size = 0
        self._entries: OrderedDict[int, Entry] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def size(self) -> int:
        """The size of all entries."""
        return self._size

    def read(self, revisions: Mapping[int, int], load: Load[Entry]) -> dict[int, Entry]:
        """Return the entries of ids at these revisions: from memory, or by one call of `load`.

        What was loaded at another revision is returned as well, and not kept.
        """

        def load_one(missing: Mapping[int, int], _: object) -> Mapping[None, Mapping[int, Entry]]:
            return {None: load(missing)}

        return read_kinds({None: self}, revisions, load_one)[None]

    def get(self, revisions: Mapping[int, int]) -> dict[int, Entry]:
        """Return id -> entry, of those in memory at exactly these revisions."""
        entries: dict[int, Entry] = {}
        with self._lock:
            known, use = self._entries.get, self._entries.move_to_end
            # PERF: which were used last matters where some will have to go.
            in_order = 2 * self._size > self._max_size
            for entry_id, revision in revisions.items():
                entry = known(entry_id)
                if entry is not None and entry.revision == revision:
                    entries[entry_id] = entry
                    if in_order:
                        use(entry_id)
        return entries

    def put(self, entries: Mapping[int, Entry]) -> None:
        """Keep entries in the place of others of their ids; those used least have to go.

        Entries that are too large together are not kept: the next ones would only be these again.
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
                return  # with all that others have made of it
            self._size -= before.size
        self._entries[entry_id] = entry
        self._entries.move_to_end(entry_id)
        self._size += entry.size


def read_kinds(
    caches: Mapping[Kind, RevisionCache[Entry]],
    revisions: Mapping[int, int],
    load: LoadKinds[Kind, Entry],
) -> dict[Kind, dict[int, Entry]]:
    """Return the entries of each kind, as `RevisionCache.read` does, by one call of `load`."""
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
    """Return those of the entries that are of these revisions."""
    return {
        entry_id: entry
        for entry_id, entry in entries.items()
        if entry.revision == revisions.get(entry_id)
    }


class KindCaches(Generic[Entry]):
    """A cache for each of the kinds that were used last."""

    def __init__(self, max_kinds: int, max_size: int) -> None:
        """max_size: of the entries of one kind."""
        self._max_kinds = max_kinds
        self._max_size = max_size
        self._caches: OrderedDict[Any, RevisionCache[Entry]] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, kind: Hashable) -> RevisionCache[Entry]:
        """Return the cache of a kind."""
        with self._lock:
            if kind not in self._caches:
                self._caches[kind] = RevisionCache(self._max_size)
            self._caches.move_to_end(kind)
            if len(self._caches) > self._max_kinds:
                self._caches.popitem(last=False)
            return self._caches[kind]
