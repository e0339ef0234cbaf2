"""Candidates are stored as positions and rendered on output."""

from hypothesis import given
from hypothesis import strategies as st

from placement.candidates.model import Member, Pool, SharingMember, Stocks, Tree
from placement.candidates.plan import SearchPlan
from placement.candidates.request import CandidateRequest, RequestGroup
from placement.candidates.search.candidate import Candidate, longest_text

NONE: frozenset[str] = frozenset()


def member(name: str, parent: int = -1) -> Member:
    return Member(name, parent, Stocks(), NONE, NONE)


def tree(root_id: int, *names: str) -> Tree:
    members = tuple(member(name, -1 if place == 0 else 0) for place, name in enumerate(names))
    return Tree(root_id, names[0], 1, members, NONE)


HOST = tree(1, "host", "numa0", "numa1")
SHARED = tree(2, "disk-host", "disk")
DISK = SharingMember(SHARED, SHARED.members[1], 1)
POOL = Pool(HOST, (*HOST.members, DISK.member), (DISK,))
ALONE = Pool(HOST, HOST.members, ())

UNSUFFIXED = RequestGroup("", (("VCPU", 2), ("DISK_GB", 10)))
CPU_A = RequestGroup("_A", (("VCPU", 1), ("MEMORY_MB", 64)))
CPU_B = RequestGroup("_B", (("VCPU", 4),))
NOTHING = RequestGroup("_C")


def candidate(pool: Pool, assignment: tuple[int, ...], *groups: RequestGroup) -> Candidate:
    return Candidate(SearchPlan(CandidateRequest(groups)), pool, assignment)


def test_what_one_provider_gives_to_several_groups_is_added_up() -> None:
    found = candidate(ALONE, (1, 1, 2), CPU_A, CPU_B, CPU_B)
    assert found.allocations == {"numa0": {"VCPU": 5, "MEMORY_MB": 64}, "numa1": {"VCPU": 4}}


def test_the_classes_of_the_unsuffixed_group_may_come_from_several_providers() -> None:
    found = candidate(POOL, (0, 3), UNSUFFIXED)
    assert found.allocations == {"host": {"VCPU": 2}, "disk": {"DISK_GB": 10}}
    assert found.mappings == {"": ("host", "disk")}
    assert [each.id for each in found.trees] == [1, 2]
    together = candidate(POOL, (0, 0), UNSUFFIXED)
    assert together.mappings == {"": ("host",)}
    assert [each.id for each in together.trees] == [1]


def test_a_group_without_resources_has_a_mapping_and_no_allocation() -> None:
    found = candidate(POOL, (1, 3), CPU_A, NOTHING)
    assert found.allocations.keys() == {"numa0"}
    assert found.mappings == {"_A": ("numa0",), "_C": ("disk",)}
    assert [each.id for each in found.trees] == [1]


@given(st.tuples(*[st.integers(0, 3)] * 5))
def test_a_candidate_knows_the_provider_of_each_slot(assignment: tuple[int, ...]) -> None:
    found = candidate(POOL, assignment, UNSUFFIXED, CPU_A, CPU_B, NOTHING)
    assert found.providers == tuple(POOL.members[place].uuid for place in assignment)


def test_the_longest_text_grows_with_every_group_and_class() -> None:
    lengths = [
        longest_text(SearchPlan(CandidateRequest(groups)))
        for groups in (
            (CPU_B,),
            (CPU_A,),
            (CPU_A, NOTHING),
            (CPU_A, CPU_B),
            (CPU_A, CPU_B, UNSUFFIXED),
        )
    ]
    assert lengths == sorted(set(lengths))
