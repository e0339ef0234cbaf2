"""Hosts in the trees that a request names have clauses of their own."""

from placement.candidates.budget import Budget
from placement.candidates.model import Member, Pool, Stocks, Tree
from placement.candidates.request import CandidateRequest, RequestGroup
from placement.candidates.terms import InTree, MemberOf
from placement.foresight.explanation.explained_plan import ExplainedPlan
from placement.foresight.explanation.fits import Fits
from placement.foresight.explanation.named_hosts import NamedHosts
from placement.foresight.explanation.rejected_hosts import Tally
from placement.foresight.explanation.words.sentences import Words

IN_TREE, MEMBER_OF = InTree("u1"), MemberOf(frozenset({"a"}))


def named(*uuids: str, is_member: bool) -> tuple[NamedHosts, Words]:
    group = RequestGroup("", (("VCPU", 8),), (MEMBER_OF, IN_TREE) if is_member else (MEMBER_OF,))
    plan = ExplainedPlan(CandidateRequest((group,)))
    fits, hosts = Fits(plan, Budget(1000), 1000), NamedHosts(plan)
    aggregates = frozenset({"a"} if is_member else ())
    for number, uuid in enumerate(uuids):
        member = Member(uuid, -1, Stocks(), frozenset(), aggregates)
        pool = Pool(Tree(number, uuid, 1, (member,), aggregates), (member,))
        hosts.add(pool, Tally(fits.of(pool)))
    return hosts, Words(plan, {"u1": "host"})


def test_the_other_hosts_are_counted() -> None:
    hosts, words = named("u1", "u2", "u3", is_member=True)
    assert hosts.clauses(words, others=False) == [
        "host host (u1) has no inventory of VCPU",
        "the other 2 are not in its tree",
    ]


def test_other_hosts_are_not_all_others_if_more_reasons_follow() -> None:
    hosts, words = named("u1", "u2", "u3", is_member=True)
    assert hosts.clauses(words, others=True)[1:] == ["2 others are not in its tree"]
    hosts, words = named("u1", "u2", is_member=True)
    assert hosts.clauses(words, others=True)[1:] == ["1 other is not in its tree"]


def test_hosts_outside_of_aggregates_are_counted() -> None:
    hosts, words = named("u2", "u3", is_member=False)
    assert not hosts.are_named
    assert hosts.clauses(words, others=True) == ["2 are not in aggregate a"]
