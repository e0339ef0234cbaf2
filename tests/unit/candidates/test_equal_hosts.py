"""Hosts that are equal in all but one property do not share the result of a search."""

import pytest

from placement.candidates.model import Member, Pool, Stocks, Trace, Tree
from placement.candidates.plan import SearchPlan
from placement.candidates.request import CandidateRequest, RequestGroup
from placement.candidates.search.anchors import AnchorSearches
from placement.candidates.terms import InTree, MemberOf, RequiredTraits, Term
from placement.inventory import Stock
from placement.runtime.budget import Budget

VCPU = Stocks({"VCPU": Stock(8, 0, 1, 8, 1)})
ONE_LESS = Stocks({"VCPU": Stock(8, 1, 1, 8, 1)})
HOST = Member("first", -1, VCPU, frozenset({"T"}), frozenset({"a"}))


def request(*amounts: int, term: Term | None = None, full: str = "") -> CandidateRequest:
    terms = () if term is None else (term,)
    groups = [RequestGroup(f"_{n}", (("VCPU", each),), terms) for n, each in enumerate(amounts)]
    return CandidateRequest(tuple(groups), full_hosts=frozenset({full} - {""}))


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
    hosts = [HOST, other._replace(uuid="second")]
    pools = [
        Pool(Tree(number, each.uuid, 1, (each,), each.aggregates), (each,))
        for number, each in enumerate(hosts, 1)
    ]
    for order in (pools, pools[::-1]):
        anchors = AnchorSearches(SearchPlan(asked), Budget(10**6), Trace())
        served = [each.root for each in order if anchors.start(each).first is not None]
        assert served == ["first"]
