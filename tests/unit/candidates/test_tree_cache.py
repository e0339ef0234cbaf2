"""The cache of trees: one for each root, whatever its revisions, within a number of providers."""

import threading

from placement.candidates.model import Member, Root, Tree
from placement.candidates.trees.cache import TreeCache


def tree(root_id: int, revision: int, providers: int = 5) -> Tree:
    members = tuple(
        Member(f"{root_id}-{position}", position - 1, {}, frozenset(), frozenset())
        for position in range(providers)
    )
    return Tree(root_id, members[0].uuid, revision, members, frozenset())


def test_hosts_under_churn_have_one_tree_each() -> None:
    cache = TreeCache(10**6)
    for revision in range(1, 1001):
        for root_id in range(20):
            cache.put(tree(root_id, revision))
    assert len(cache) == 20


def test_another_revision_takes_the_place_of_the_one_before_it() -> None:
    cache = TreeCache(100)
    cache.put(tree(1, 77))
    assert not cache.get([Root(1, 78)])
    # A snapshot may be older than what is kept; whoever reads the newer one puts it back.
    for revision in (78, 77, 78):
        newest = tree(1, revision)
        cache.put(newest)
        assert cache.get([Root(1, revision)])[1] is newest
        assert len(cache) == 1


def test_the_same_revision_is_kept_as_it_is() -> None:
    cache = TreeCache(100)
    kept = tree(1, 77)
    cache.put(kept)
    cache.put(tree(1, 77))
    assert cache.get([Root(1, 77)])[1] is kept


def test_replaced_trees_take_no_room() -> None:
    """Two trees of five providers fit into ten places, however often one of them changes."""
    cache = TreeCache(10)
    cache.put(tree(1, 1))
    for revision in range(1, 50):
        cache.put(tree(2, revision, 3))
        cache.put(tree(2, revision + 50, 5))
    assert cache.get([Root(1, 1)])
    cache.put(tree(3, 1))
    assert len(cache) == 2
    assert not cache.get([Root(2, 99)])  # used least lately


def test_of_many_trees_those_come_that_are_kept_at_their_revisions() -> None:
    cache = TreeCache(100)
    for root_id in (1, 2, 3):
        cache.put(tree(root_id, 1))
    trees = cache.get([Root(1, 1), Root(2, 2), Root(3, 1), Root(4, 1)])
    assert {each.id: each.revision for each in trees.values()} == {1: 1, 3: 1}


def test_a_changed_tree_counts_as_used() -> None:
    cache = TreeCache(10)
    for root_id, revision in ((1, 1), (2, 1), (1, 2), (3, 1)):
        cache.put(tree(root_id, revision))
    assert cache.get([Root(1, 2)])
    assert not cache.get([Root(2, 1)])


def test_a_tree_without_revisions_is_not_kept() -> None:
    cache = TreeCache(10)
    cache.put(tree(1, 0))
    assert len(cache) == 0


def test_threads_share_it() -> None:
    cache = TreeCache(50)
    wrong: list[object] = []

    def churn(seed: int) -> None:
        for number in range(2000):
            root = Root((seed + number) % 15, number % 7 + 1)
            trees = cache.get([root])
            if not trees:
                cache.put(tree(*root))
            elif {each.id: each.revision for each in trees.values()} != dict([root]):
                wrong.append(trees)

    threads = [threading.Thread(target=churn, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert len(cache) <= 10
