"""Cached trees and providers are only found at the same revision."""

import threading
from collections.abc import Callable, Mapping
from functools import partial
from typing import NamedTuple

from placement.objects.revision_cache import BlockCache, KindCaches, RevisionCache, read_kinds
from placement.objects.revisions import UNKNOWN


class Value(NamedTuple):
    name: str
    revision: int
    size: int = 10


def cache_of(max_size: int = 100, **values: Value) -> RevisionCache[Value]:
    """Return a cache after adding the values one after the other; a1 is the value of id 1."""
    cache = RevisionCache[Value](max_size)
    for name, value in values.items():
        cache.put({int(name[1:]): value})
    return cache


def no_load(missing: Mapping[int, int], *_: object) -> Mapping[int, Value]:
    raise AssertionError(missing)


def test_a_value_is_found_at_its_revision_only() -> None:
    cache = cache_of(a1=Value("a", 11), a2=Value("b", 12))
    assert cache.get({1: 11, 2: 12}) == {1: Value("a", 11), 2: Value("b", 12)}
    assert cache.get({1: 11, 2: 99, 3: 11}) == {1: Value("a", 11)}


def test_another_revision_takes_the_place_of_the_one_before_it() -> None:
    cache = cache_of(a1=Value("a", 77))
    # A snapshot may be older than what is kept; a reader of the newer one puts it back.
    for revision in (78, 77, 78):
        newest = Value("b", revision)
        cache.put({1: newest})
        assert cache.get({1: revision})[1] is newest
        assert (len(cache), cache.size) == (1, 10)


def test_the_same_revision_is_kept_as_it_is() -> None:
    kept = Value("a", 77)
    cache = cache_of(a1=kept)
    cache.put({1: Value("a", 77)})
    assert cache.get({1: 77})[1] is kept


def test_content_of_no_known_revision_is_never_kept() -> None:
    cache = cache_of(a1=Value("a", 0))
    assert cache.read({2: 0}, lambda missing: {2: Value("b", 0)}) == {2: Value("b", 0)}
    assert cache.get({1: 0, 2: 0}) == {}
    assert (len(cache), cache.size) == (0, 0)


def test_the_least_recently_used_entries_are_evicted() -> None:
    cache = cache_of(30, a1=Value("a", 1), a2=Value("b", 1), a3=Value("c", 1))
    assert cache.get({1: 1})  # is used now
    cache.put({2: Value("b", 2)})  # so is what has changed
    cache.put({4: Value("d", 1)})
    assert cache.get({1: 1, 2: 2, 3: 1, 4: 1}).keys() == {1, 2, 4}
    cache.put({5: Value("e", 1, size=25)})
    assert cache.get({1: 1, 2: 2, 4: 1, 5: 1}).keys() == {5}


def test_replaced_values_take_no_room() -> None:
    cache = cache_of(20, a1=Value("a", 1))
    for revision in range(1, 50):
        cache.put({2: Value("b", revision, size=7)})
        cache.put({2: Value("b", revision + 50)})
    assert cache.get({1: 1})
    assert cache.size == 20


def test_what_is_too_much_by_itself_leaves_all_as_it_is() -> None:
    cache = cache_of(20, a1=Value("a", 1))
    cache.put({number: Value("x", 2) for number in (1, 2, 3)})
    assert cache.get({1: 1}) == {1: Value("a", 1)}
    assert cache.size == 10


def loading(loads: list[Mapping[int, int]], **values: Value) -> Callable[..., dict[int, Value]]:
    """Return what notes what it is to load, and loads these values."""

    def load(missing: Mapping[int, int]) -> dict[int, Value]:
        loads.append(dict(missing))
        return {int(name[1:]): value for name, value in values.items()}

    return load


def test_what_is_missing_is_loaded_at_once_and_kept() -> None:
    cache, loads = cache_of(a1=Value("a", 1)), list[Mapping[int, int]]()
    seen = {1: 1, 2: 5, 3: 6}
    load = loading(loads, b2=Value("b", 5), b3=Value("c", 6))
    expected = {1: Value("a", 1), 2: Value("b", 5), 3: Value("c", 6)}
    assert cache.read(seen, load) == expected
    assert loads == [{2: 5, 3: 6}]
    assert cache.read(seen, no_load) == expected


def test_what_has_changed_since_it_was_seen_is_returned_and_not_kept() -> None:
    cache, loads = cache_of(), list[Mapping[int, int]]()
    load = loading(loads, b1=Value("later", 2), b2=Value("torn", 0), b3=Value("not asked", 9))
    entries = cache.read({1: 1, 2: 5, 4: 1}, load)  # 4 is gone
    assert {number: value.name for number, value in entries.items()} == {
        1: "later", 2: "torn", 3: "not asked"
    }  # fmt: skip
    assert len(cache) == 0


def test_kinds_are_loaded_together_and_kept_apart() -> None:
    caches = {
        "known": cache_of(a1=Value("a", 1)),
        "partly": cache_of(a1=Value("b", 1)),
        "not": cache_of(),
    }
    caches["known"].put({2: Value("c", 1)})
    loads = []

    def load(missing: Mapping[int, int], kinds: object) -> dict[str, dict[int, Value]]:
        loads.append((dict(missing), kinds))
        values = {number: Value("new", 1) for number in missing}
        return {"partly": values, "not": values}

    entries = read_kinds(caches, {1: 1, 2: 1}, load)
    assert loads == [({1: 1, 2: 1}, ["partly", "not"])]
    assert [value.name for value in entries["known"].values()] == ["a", "c"]
    assert caches["partly"].get({1: 1})[1].name == "b"
    assert {kind: len(cache) for kind, cache in caches.items()} == dict.fromkeys(caches, 2)


def test_the_kinds_that_were_used_last_are_kept() -> None:
    caches = KindCaches(2, partial(RevisionCache[Value], 100))
    for kind in ("j", "k", "j", "l"):
        caches.get(kind).put({1: Value(kind, 1)})
    found = {kind: caches.get(kind).get({1: 1}) for kind in ("j", "l")}
    assert found == {kind: {1: Value(kind, 1)} for kind in ("j", "l")}
    assert caches.get("k").get({1: 1}) == {}


def parse(block: str) -> dict[int, int]:
    """Parse a block such as 1:11 2:12."""
    return {int(pair[0]): int(pair[2:]) for pair in block.split()}


class Blocks:
    """A cache of blocks that records what it loads and parses."""

    def __init__(self, max_size: int = 100) -> None:
        self.cache = BlockCache[Value](max_size)
        self.loaded: list[int] = []
        self.parsed: list[str] = []
        self.revisions: dict[int, int] = {}  # that are loaded instead of the requested revisions
        self.gone: set[int] = set()

    def read(self, *texts: str) -> list[str]:
        self.loaded.clear()
        self.parsed.clear()
        return [value.name for value in self.cache.read(texts, self._parse, self._load)]

    def _parse(self, text: str) -> dict[int, int]:
        self.parsed.append(text)
        return parse(text)

    def _load(self, missing: Mapping[int, int]) -> dict[int, Value]:
        self.loaded += missing
        return {
            number: Value(f"v{number}", self.revisions.get(number, revision))
            for number, revision in missing.items()
            if number not in self.gone
        }


def test_blocks_are_listed_by_id_and_equal_ones_are_not_parsed_again() -> None:
    blocks = Blocks()
    for texts in (("7:1 8:1", "1:1 2:1"), ("1:1 2:1", "7:1 8:1")):
        assert blocks.read(*texts) == ["v1", "v2", "v7", "v8"]
    assert (blocks.parsed, blocks.loaded) == ([], [])


def test_only_changed_entries_of_a_changed_block_are_loaded() -> None:
    blocks = Blocks()
    blocks.read("1:1 2:1", "7:1")
    assert blocks.read("1:1 2:2", "7:1") == ["v1", "v2", "v7"]
    assert (blocks.parsed, blocks.loaded) == (["1:1 2:2"], [2])


def test_a_block_is_not_cached_with_other_revisions_than_its_text_states() -> None:
    blocks = Blocks()
    blocks.revisions[2] = 3  # changed since the revisions were read
    assert blocks.read("1:1 2:1") == ["v1", "v2"]
    blocks.revisions.clear()
    assert blocks.read("1:1 2:1") == ["v1", "v2"]
    assert (blocks.parsed, blocks.loaded) == (["1:1 2:1"], [2])


def test_a_block_is_not_cached_without_an_entry_or_with_an_unknown_revision() -> None:
    for number, revision in ((2, 1), (3, UNKNOWN)):
        blocks = Blocks()
        blocks.gone.add(2)
        text = f"1:1 {number}:{revision}"
        for _ in range(2):
            assert blocks.read(text) == ["v1", "v3"][: number - 1]
            assert blocks.parsed == [text]


def test_blocks_are_evicted_with_the_sizes_of_their_entries() -> None:
    blocks = Blocks(max_size=30)
    for text in ("1:1 2:1", "3:1", "4:1"):
        blocks.read(text)
    blocks.read("3:1", "4:1")
    assert blocks.parsed == []
    blocks.read("1:1 2:1")
    assert blocks.parsed == ["1:1 2:1"]


def test_threads_share_it() -> None:
    cache = RevisionCache[Value](100)
    wrong: list[object] = []

    def churn(seed: int) -> None:
        for number in range(2000):
            wanted = {(seed + number) % 15: number % 7 + 1}
            entries = cache.read(
                wanted, lambda missing: {each: Value("", of) for each, of in missing.items()}
            )
            if {each: entry.revision for each, entry in entries.items()} != wanted:
                wrong.append(entries)

    threads = [threading.Thread(target=churn, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert cache.size == 10 * len(cache) <= 100
