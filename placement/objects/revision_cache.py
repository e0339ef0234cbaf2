"""An in-memory cache of data about trees and providers. Each entry is valid at one revision.

Every change in a tree gives the tree a new revision, so entries do not have to be invalidated. A
request that has read a different revision does not find the entry, and replaces it. Revisions have
no order. Entries with the revision `revisions.UNKNOWN` are never cached, because their content may
belong to any revision.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from datetime import datetime
from itertools import chain
from operator import attrgetter
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from placement.objects.revisions import UNKNOWN
from placement.runtime.bounded import SizeLimitedDict


class Revisioned(Protocol):
    """A value that is valid at one revision of a tree."""

    @property
    def revision(self) -> int:
        """The revision of the content, or UNKNOWN."""

    @property
    def size(self) -> int:
        """The size of the entry in the unit of the cache's limit. The size must not change."""


class CachedText(NamedTuple):
    """The rendered text of a provider in lists, or of one of its parts."""

    # JSON in the form that the renderer expects.
    text: Any
    # Revision of the tree.
    revision: int
    # Size in bytes, including the objects that hold the text.
    size: int
    # Time of the provider's last change. None if the provider has none, or for the text of a part.
    changed_at: datetime | None = None


Entry = TypeVar("Entry", bound=Revisioned)
Kind = TypeVar("Kind", bound=Hashable)

# Function that loads the entries of ids with these revisions. Entries may no longer exist, and the
# result may contain other entries. Each entry has the revision to which its content is known to
# belong.
Load = Callable[[Mapping[int, int]], Mapping[int, Entry]]
# The same function for several kinds.
LoadKinds = Callable[[Mapping[int, int], Collection[Kind]], Mapping[Kind, Mapping[int, Entry]]]


class RevisionCache(Generic[Entry]):
    """An LRU cache of entries of one kind by id, shared by the threads of a process.

    The order of use is tracked only while the cache is more than half full.
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
        return self._size

    def read(self, revisions: Mapping[int, int], load: Load[Entry]) -> dict[int, Entry]:
        """Return the entries with these revisions, from memory or from a single call of `load`.

        Entries that were loaded at a different revision are also returned, but not cached.
        """

        def load_one(missing: Mapping[int, int], _: object) -> Mapping[None, Mapping[int, Entry]]:
            return {None: load(missing)}

        return read_kinds({None: self}, revisions, load_one)[None]

    def get(self, revisions: Mapping[int, int]) -> dict[int, Entry]:
        """Return id -> entry for the cached entries that have exactly these revisions."""
        entries: dict[int, Entry] = {}
        with self._lock:
            known, use = self._entries.get, self._entries.move_to_end
            # PERF: the order of use is needed only if entries will be evicted.
            in_order = 2 * self._size > self._max_size
            for entry_id, revision in revisions.items():
                entry = known(entry_id)
                if entry is not None and entry.revision == revision:
                    entries[entry_id] = entry
                    if in_order:
                        use(entry_id)
        return entries

    def put(self, entries: Mapping[int, Entry]) -> None:
        """Cache entries, replace entries with the same ids, and evict the least recently used ones.

        If the entries together exceed the limit, none of them is cached, because each entry would
        evict the previous one.
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
                return  # keep the cached entry, and the data that was derived from it
            self._size -= before.size
        self._entries[entry_id] = entry
        self._entries.move_to_end(entry_id)
        self._size += entry.size


def read_kinds(
    caches: Mapping[Kind, RevisionCache[Entry]],
    revisions: Mapping[int, int],
    load: LoadKinds[Kind, Entry],
) -> dict[Kind, dict[int, Entry]]:
    """Return the entries of each kind like `RevisionCache.read`, with a single call of `load`."""
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


class _Block(NamedTuple, Generic[Entry]):
    """The entries of a block."""

    # The lowest id.
    first: int
    # The entries by id.
    entries: Sequence[Entry]


class BlockCache(Generic[Entry]):
    """A cache of entries by id, and of blocks of entries by the text of their ids and revisions.

    PERF: most blocks of a large list have not changed since the previous request. Comparing their
    texts is faster than parsing the texts and looking up each id.
    """

    def __init__(self, max_size: int) -> None:
        """Create an empty cache.

        Args:
            max_size: maximum sum of the sizes of the entries by id, and of the entries of the
                blocks. Most of them are the same objects.
        """
        self._entries: RevisionCache[Entry] = RevisionCache(max_size)
        self._blocks: SizeLimitedDict[_Block[Entry]] = SizeLimitedDict(max_size, _size_of_block)

    def read(
        self, texts: Collection[str], parse: Callable[[str], Mapping[int, int]], load: Load[Entry]
    ) -> list[Entry]:
        """Return the entries of all blocks in the order of their ids.

        Entries come from memory or from a single call of `load`. Blocks must not overlap.

        Args:
            texts: the texts of the blocks.
            parse: returns id -> revision of the entries of a block, by id.
            load: loads entries. Entries that no longer exist are omitted.
        """
        blocks: list[_Block[Entry]] = []
        changed: dict[str, Mapping[int, int]] = {}
        for text in texts:
            block = self._blocks.get(text)
            if block is None:
                changed[text] = parse(text)
            else:
                blocks.append(block)
        if changed:
            revisions = dict(chain.from_iterable(each.items() for each in changed.values()))
            entries = self._entries.read(revisions, load)
            for text, seen in changed.items():
                blocks.append(self._make_block(text, seen, entries))
        return list(
            chain.from_iterable(block.entries for block in sorted(blocks, key=attrgetter("first")))
        )

    def _make_block(
        self, text: str, seen: Mapping[int, int], entries: Mapping[int, Entry]
    ) -> _Block[Entry]:
        """Return the block of entries, and cache it if it is exact."""
        listed = [entries[entry_id] for entry_id in seen if entry_id in entries]
        block = _Block(next(iter(seen), 0), listed)
        revisions = [entry.revision for entry in listed]
        if revisions == list(seen.values()) and UNKNOWN not in revisions:
            self._blocks[text] = block
        return block


def _size_of_block(block: _Block[Entry]) -> int:
    return sum([entry.size for entry in block.entries])


Cache = TypeVar("Cache")


class KindCaches(Generic[Cache]):
    """An LRU cache of caches. There is one cache for each kind."""

    def __init__(self, max_kinds: int, make: Callable[[], Cache]) -> None:
        """make: creates the cache of one kind."""
        self._max_kinds = max_kinds
        self._make = make
        self._caches: OrderedDict[Any, Cache] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, kind: Hashable) -> Cache:
        with self._lock:
            if kind not in self._caches:
                self._caches[kind] = self._make()
            self._caches.move_to_end(kind)
            if len(self._caches) > self._max_kinds:
                self._caches.popitem(last=False)
            return self._caches[kind]
