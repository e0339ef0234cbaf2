"""The clauses of the text: their numbers add up, and the main reasons come first."""

from collections.abc import Sequence

from placement.candidates.plan import SearchPlan
from placement.candidates.request import CandidateRequest, RequestGroup
from placement.candidates.stated_terms import StatedTerm
from placement.candidates.terms.amounts import Amount
from placement.candidates.trace import Refusal
from placement.foresight.explanation.causes import Extreme, RejectionCause
from placement.foresight.explanation.rejected_hosts import CauseHosts
from placement.foresight.explanation.words.sentences import Words

WORDS = Words(SearchPlan(CandidateRequest((RequestGroup("", (("VCPU", 8),)),))), {"u1": "host"})


def trait(name: str, hosts: int) -> tuple[Refusal, CauseHosts]:
    term = StatedTerm(Refusal.TRAIT_MISSING, "required", "", frozenset({name}))
    return term.code, CauseHosts((RejectionCause((term,)),), hosts)


def capacity(most: int, hosts: int) -> tuple[Refusal, CauseHosts]:
    cause = RejectionCause((StatedTerm(Refusal.CAPACITY, "resources", "", Amount("VCPU", 8)),))
    extremes = {cause: {"VCPU": Extreme(most)}}
    return Refusal.CAPACITY, CauseHosts((cause,), hosts, extremes=extremes)


def details(stated: Sequence[tuple[Refusal, CauseHosts]]) -> str:
    return WORDS.detail(stated[0][0], [cause_hosts for _code, cause_hosts in stated])


def test_clauses_are_sorted_by_number_of_hosts() -> None:
    assert WORDS.clauses([capacity(4, 1), trait("T", 30), trait("U", 29)]) == [
        "30 have no provider with trait T",
        "29 have no provider with trait U",
        "1 has no provider with 8 VCPU free (the most is 4)",
    ]


def test_hosts_beyond_the_first_clauses_are_counted_with_the_meanings_of_their_codes() -> None:
    stated = [*(trait(f"T{number}", 1) for number in range(3)), capacity(4, 1000), capacity(3, 9)]
    assert len(WORDS.clauses(stated)) == 5
    clauses = WORDS.clauses([capacity(2, 2), *stated, trait("T3", 1)])
    assert len(clauses) == 6
    assert clauses[-1] == "2 more because no provider with room has the required traits"
    clauses = WORDS.clauses([*stated, trait("T3", 1), capacity(0, 1)])
    assert clauses[-1] == (
        "2 more because no provider with room has the required traits or no provider has that "
        "much left"
    )


def test_hosts_that_lack_only_an_amount_have_a_clause() -> None:
    clauses = WORDS.clauses([*(trait(f"T{number}", 9) for number in range(6)), capacity(4, 1)])
    assert clauses[-2:] == [
        "1 has no provider with 8 VCPU free (the most is 4)",
        "18 more because no provider with room has the required traits",
    ]


def test_details_count_hosts_if_there_are_several_causes() -> None:
    assert details([capacity(4, 40)]) == "8 VCPU asked, the most free is 4"
    several = [capacity(most, hosts) for most, hosts in ((4, 4), (3, 3), (2, 2), (1, 1))]
    assert details(several[:2]) == (
        "8 VCPU asked, the most free is 4 (4 hosts); 8 VCPU asked, the most free is 3 (3 hosts)"
    )
    assert details(several).endswith("(2 hosts); 1 more")
