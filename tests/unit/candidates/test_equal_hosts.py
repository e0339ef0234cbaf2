"""Hosts that are equal in all but one property do not share the result of a search."""

import pytest

from placement.candidates.model import Member, Outcome, Refusal, Stocks, Trace, Tree
from placement.candidates.plan import SearchPlan
from placement.candidates.request import CandidateRequest, RequestGroup
from placement.candidates.search.anchors import AnchorSearches
from placement.candidates.terms import InTree, MemberOf, RequiredTraits, Term
from placement.candidates.trees.sharing import AnchorPools
from placement.inventory import Stock
from placement.runtime.budget import Budget, uncharged


def stocks(used: int) -> Stocks:
    return Stocks({"VCPU": Stock(8, used, 1, 8, 1)})


VCPU, ONE_LESS = stocks(0), stocks(1)
HOST = Member("first", -1, VCPU, frozenset({"T"}), frozenset({"a"}))


def request(*amounts: int, term: Term | None = None, full: str = "") -> CandidateRequest:
    terms = () if term is None else (term,)
    groups = [RequestGroup(f"_{n}", (("VCPU", each),), terms) for n, each in enumerate(amounts)]
    return CandidateRequest(tuple(groups), full_hosts=frozenset({full} - {""}))


def trees_of(*hosts: Member) -> list[Tree]:
    return [Tree(n, each.uuid, 1, (each,), each.aggregates) for n, each in enumerate(hosts, 1)]


def served(anchors: AnchorSearches, trees: list[Tree]) -> list[str]:
    """Return the UUIDs of the hosts that have a candidate."""
    outcomes: dict[int, Outcome] = {}
    searches = anchors.start_each(trees, AnchorPools((), uncharged), outcomes)
    uuids = [search.first.pool.root for search in searches if search.first is not None]
    assert len(outcomes) == len(trees)
    assert sum(outcome.served for outcome in outcomes.values()) == len(uuids)
    return uuids


@pytest.mark.parametrize(
    ("asked", "other"),
    [
        (request(1, term=RequiredTraits(frozenset({"T"}))), HOST._replace(traits=frozenset())),
        (request(1, term=MemberOf(frozenset({"a"}))), HOST._replace(aggregates=frozenset())),
        (request(1, term=InTree("first")), HOST),
        (request(1, full="second"), HOST),
        (request(8), HOST._replace(stocks=ONE_LESS)),
        (request(4, 4), HOST._replace(stocks=ONE_LESS)),
    ],
    ids=["trait", "aggregate", "named", "full", "amount", "sum"],
)
def test_only_one_of_two_hosts_is_served(asked: CandidateRequest, other: Member) -> None:
    trees = trees_of(HOST, other._replace(uuid="second"))
    for order in (trees, trees[::-1]):
        anchors = AnchorSearches(SearchPlan(asked), Budget(10**6), Trace())
        assert served(anchors, order) == ["first"]


def test_hosts_that_allow_the_amounts_share_a_result() -> None:
    trace = Trace()
    anchors = AnchorSearches(SearchPlan(request(7)), Budget(10**6), trace)
    fuller = [HOST._replace(uuid=f"{used}", stocks=stocks(used)) for used in range(2, 8)]
    assert served(anchors, trees_of(HOST, HOST._replace(stocks=ONE_LESS))) == ["first", "first"]
    known = len(anchors.known)
    assert served(anchors, trees_of(*fuller)) == []
    assert len(anchors.known) == known + 1
    assert trace.codes == {(Refusal.CAPACITY, "_0"): len(fuller)}
    assert len(trace.refused) == len(fuller)
    assert anchors.searched == 2 + len(fuller)
