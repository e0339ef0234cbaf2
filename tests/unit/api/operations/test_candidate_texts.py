"""Candidates are text that is made once for each way to serve a request."""

from collections.abc import Sequence

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from placement.api.history import v
from placement.api.operations.candidate_texts import RenderInput, texts
from placement.api.operations.candidates import REQUEST
from placement.api.shapes import Renderer, View
from placement.candidates.model import Member, Pool, Stocks, Tree
from placement.candidates.plan import SearchPlan
from placement.candidates.request import CandidateRequest, RequestGroup
from placement.candidates.search.candidate import Candidate

NONE: frozenset[str] = frozenset()
GROUPS = (
    RequestGroup("", (("VCPU", 2), ("DISK_GB", 10))),
    RequestGroup("_A", (("VCPU", 1), ("MEMORY_MB", 64))),
    RequestGroup("_B", (("VCPU", 4),)),
    RequestGroup("_NOTHING"),
)
VERSIONS = ("1.10", "1.12", "1.34", "2.0")


def pool(uuids: Sequence[str]) -> Pool:
    members = tuple(Member(uuid, -1, Stocks(), NONE, NONE) for uuid in uuids)
    return Pool(Tree(1, uuids[0], 1, members, NONE), members, ())


def renderer(version: str) -> Renderer:
    return REQUEST.renderer(View(v(version)))


def spelled(candidate: Candidate) -> RenderInput:
    return candidate.allocations, candidate.mappings


@given(
    st.lists(st.tuples(*[st.integers(0, 4)] * 5), min_size=1),
    st.lists(st.uuids().map(str), min_size=5, max_size=5),
    st.sampled_from(VERSIONS),
)
def test_each_text_is_the_json_of_its_candidate(
    assignments: list[tuple[int, ...]], uuids: list[str], version: str
) -> None:
    plan, render = SearchPlan(CandidateRequest(GROUPS)), renderer(version)
    candidates = [Candidate(plan, pool(uuids), assignment) for assignment in assignments]
    expected = [orjson.dumps(render(spelled(candidate))) for candidate in candidates]
    assert list(texts(candidates, render)) == expected


@pytest.mark.parametrize("uuid", ['say "uuid"', "100 %d", "%b\\", "<0>", "Ä\n", ""])
def test_a_provider_may_be_called_anything(uuid: str) -> None:
    """As databases that are adopted may have it."""
    plan, render = SearchPlan(CandidateRequest(GROUPS)), renderer("1.34")
    candidates = [
        Candidate(plan, pool(uuids), (0, 0, 1, 1, 0))
        for uuids in ((uuid, "other"), ("other", uuid), ("a", "b"))
    ]
    expected = [orjson.dumps(render(spelled(candidate))) for candidate in candidates]
    assert list(texts(candidates, render)) == expected
