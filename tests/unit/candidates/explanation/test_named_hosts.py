"""Hosts in the trees that a request names have clauses of their own."""

from placement.candidates.explanation.causes import Rejection, RejectionCause
from placement.candidates.explanation.evaluation import Evaluation
from placement.candidates.explanation.explain_request import ExplainRequest
from placement.candidates.explanation.named_hosts import NamedHosts
from placement.candidates.explanation.words.clauses import Words
from placement.candidates.model import Member, Pool, Stocks, Tree
from placement.candidates.request import CandidateRequest, RequestGroup
from placement.candidates.stated_terms import StatedTerm
from placement.candidates.terms import InTree, MemberOf
from placement.candidates.terms.amounts import Amount
from placement.candidates.trace import Refusal

GROUP = RequestGroup("", (("VCPU", 8),), (InTree("u1"), MemberOf(frozenset({"a"}))))
REQUEST = ExplainRequest(CandidateRequest((GROUP,)))
WORDS = Words(REQUEST.joins.plan, {"u1": "host"})


def named(*uuids: str, terms: tuple[str, ...] = ("in_tree",)) -> NamedHosts:
    hosts = NamedHosts(REQUEST)
    outside = tuple(term for term in REQUEST.stated if term.keyword in terms)
    vcpu = StatedTerm(Refusal.NO_INVENTORY, "resources", "", Amount("VCPU", 8))
    rejection = Rejection(Refusal.NO_INVENTORY, "", RejectionCause((vcpu,)))
    for number, uuid in enumerate(uuids):
        member = Member(uuid, -1, Stocks(), frozenset(), frozenset())
        tree = Tree(number, uuid, 1, (member,), frozenset())
        hosts.add(Pool(tree, (member,), ()), Evaluation([rejection], outside=outside))
    return hosts


def test_the_other_hosts_are_counted() -> None:
    hosts = named("u1", "u2", "u3")
    assert hosts.clauses(WORDS, others=False) == [
        "host host (u1) has no inventory of VCPU",
        "the other 2 are not in its tree",
    ]


def test_other_hosts_are_not_all_others_if_more_reasons_follow() -> None:
    assert named("u1", "u2", "u3").clauses(WORDS, others=True)[1:] == [
        "2 others are not in its tree"
    ]
    assert named("u1", "u2").clauses(WORDS, others=True)[1:] == ["1 other is not in its tree"]


def test_hosts_outside_of_aggregates_are_counted() -> None:
    hosts = named("u2", "u3", terms=("member_of",))
    assert not hosts.are_named
    assert hosts.clauses(WORDS, others=True) == ["2 are not in aggregate a"]
