"""What is kept of providers is found again at the same revision, and only there."""

from placement.objects.part_cache import PartCache

REVISIONS = {1: 11, 2: 11, 3: 12}


def keep(cache: PartCache, size: int = 10, **values: str) -> None:
    cache.keep("k", REVISIONS, {int(key[1:]): (text, size) for key, text in values.items()})


def test_a_value_is_known_at_its_revision_only() -> None:
    cache = PartCache()
    keep(cache, p1="a", p2="b")
    assert cache.known("k", REVISIONS) == {1: "a", 2: "b"}
    assert cache.known("k", {1: 11, 2: 99, 4: 11}) == {1: "a"}
    assert cache.known("other", REVISIONS) == {}


def test_a_later_value_takes_the_place_of_the_earlier_one() -> None:
    cache = PartCache()
    keep(cache, p1="a")
    cache.keep("k", {1: 99}, {1: ("b", 10)})
    assert cache.known("k", {1: 11}) == {}
    assert cache.known("k", {1: 99}) == {1: "b"}


def test_nothing_is_kept_of_trees_whose_revision_says_nothing() -> None:
    cache = PartCache()
    cache.keep("k", {1: 0}, {1: ("a", 1), 2: ("b", 1)})
    assert cache.known("k", {1: 0, 2: 0}) == {}


def test_the_first_that_came_go_where_there_is_too_much() -> None:
    cache = PartCache(most=20)
    keep(cache, p1="a", p2="b")
    keep(cache, p1="c")  # is now the last one
    keep(cache, p3="d")
    assert cache.known("k", REVISIONS) == {1: "c", 3: "d"}
    keep(cache, size=20, p2="b")
    assert cache.known("k", REVISIONS) == {2: "b"}


def test_what_is_too_much_by_itself_leaves_all_as_it_is() -> None:
    cache = PartCache(most=20)
    keep(cache, p1="a")
    keep(cache, p1="x", p2="x", p3="x")
    assert cache.known("k", REVISIONS) == {1: "a"}


def test_the_kinds_that_were_used_last_are_kept() -> None:
    cache = PartCache(kinds=2)
    for kind in ("j", "k", "j", "l"):
        cache.keep(kind, REVISIONS, {1: (kind, 10)})
    assert [cache.known(kind, REVISIONS) for kind in ("j", "l")] == [{1: "j"}, {1: "l"}]
    assert cache.known("k", REVISIONS) == {}
