"""Values of the search: trees whose members are equal except for names."""

from dataclasses import replace

from placement.candidates.model import Member, Stocks, Tree
from placement.inventory import Stock

VCPU = Stocks({"VCPU": Stock(8, 0, 1, 8, 1)})
NONE: frozenset[str] = frozenset()


def host(name: str, *, stocks: Stocks = VCPU, traits: frozenset[str] = NONE) -> Tree:
    return Tree(hash(name), name, 1, (Member(name, -1, stocks, traits, NONE, hash(name)),), NONE)


def test_trees_that_differ_in_names_and_ids_have_one_profile() -> None:
    assert host("a").profile == host("b").profile


def test_trees_that_differ_in_traits_or_stocks_have_different_profiles() -> None:
    trees = host("a"), host("b", traits=frozenset({"HW_A"})), host("c", stocks=Stocks())
    assert len({tree.profile for tree in trees}) == 3


def test_trees_that_differ_in_a_child_have_different_profiles() -> None:
    def tree(*parents: int) -> Tree:
        members = [Member(f"m{parent}", parent, VCPU, NONE, NONE) for parent in (-1, *parents)]
        return Tree(1, "root", 1, tuple(members), NONE)

    assert tree(0, 1).profile == tree(0, 1).profile
    assert len({each.profile for each in (tree(), tree(0), tree(0, 0), tree(0, 1))}) == 4


def test_a_tree_after_a_claim_has_a_new_profile() -> None:
    tree = host("a")
    before = tree.profile
    assert tree.after({"a": {"VCPU": 1}}).profile != before
    assert replace(tree, members=()).profile != before
    assert tree.profile == before
