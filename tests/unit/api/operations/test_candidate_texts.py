"""Candidates are text that is made once for each way to serve a request."""

from collections.abc import Mapping, Sequence
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from placement.api.history import v
from placement.api.operations.candidate_texts import MAX_TEMPLATES, RenderInput, texts
from placement.api.operations.candidates import REQUEST
from placement.api.shapes import Renderer, View
from placement.candidates.model import Member, Pool, Stocks, Tree
from placement.candidates.plan import SearchPlan
from placement.candidates.request import CandidateRequest, RequestGroup, Slot
from placement.candidates.search.candidate import Candidate, SplitLayout
from tests.kit.cloud import provider_uuid

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


def test_parts_of_equal_places_and_other_amounts_are_other_texts() -> None:
    group, render = GROUPS[0], renderer("2.0")
    wordings = [
        SplitLayout([Slot(group, (("VCPU", first),)), Slot(group, (("VCPU", 8 - first),))])
        for first in (5, 6)
    ]
    candidates = [Candidate(wording, pool(["a", "b"]), (0, 1)) for wording in wordings]
    told: list[Mapping[str, Any]] = list(map(orjson.loads, texts(candidates, render)))
    assert [each["allocations"]["a"]["resources"]["VCPU"] for each in told] == [5, 6]


def counted(assignments: Sequence[tuple[int, ...]], members: int) -> tuple[list[bytes], int]:
    """The texts of candidates, and how many of them were rendered."""
    plan, render, rendered = SearchPlan(CandidateRequest(GROUPS)), renderer("1.34"), 0

    def count(value: RenderInput) -> object:
        nonlocal rendered
        rendered += 1
        return render(value)

    host = pool([provider_uuid(number) for number in range(members)])
    candidates = [Candidate(plan, host, assignment) for assignment in assignments]
    written = list(texts(candidates, count))
    assert written == [orjson.dumps(render(spelled(candidate))) for candidate in candidates]
    return written, rendered


def test_hosts_that_serve_in_the_same_way_are_rendered_once() -> None:
    written, rendered = counted([(0, 0, 1, 2, 2)] * 1000, 3)
    assert (len(written), rendered) == (1000, 1)


def test_assignments_are_rendered_by_layout_and_not_by_provider() -> None:
    """More combinations than are cached, all with one provider, or with one next to another."""
    places = range(2 * MAX_TEMPLATES)
    assignments = [(place, place, place, place, place) for place in places]
    assignments += [(place, place, 0, 0, place) for place in places[1:]]
    assert counted(assignments, len(places))[1] == 2
