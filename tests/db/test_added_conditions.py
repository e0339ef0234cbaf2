"""A new term and a new constraint are a class each: all operations then agree about them."""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import NamedTuple, Self

import pytest

from placement.candidates import constraints, find_candidates
from placement.candidates.constraints import CONSTRAINTS, Constraint, Undo
from placement.candidates.model import OptionList, Pool, Refusal
from placement.candidates.plan import SearchPlan
from placement.candidates.request import CandidateRequest, RequestGroup, StatedTerm
from placement.candidates.terms import Term
from placement.candidates.terms.base import MemberTerm
from placement.foresight.explanation import explain
from placement.foresight.headroom import HeadroomQuery, find_headroom
from placement.foresight.simulation.simulate import simulate
from placement.foresight.simulation.value import ClaimOnCopies, SimulationRequest, Unplaced
from placement.objects.known_names import KnownNames
from placement.runtime.budget import Charge
from placement.vocabulary import IdCondition
from tests.db.test_candidates_growth import loaded
from tests.kit.cloud import Cloud, Provider
from tests.kit.search import Searcher

HOSTS = 3


@dataclass(frozen=True, slots=True)
class FewTraits(MemberTerm):
    """The provider has at most this number of traits."""

    code = Refusal.TRAIT_FORBIDDEN
    keyword = parameter = "most_traits"
    reads = attrgetter("traits")
    name_kind = "trait"

    most: int

    @property
    def stated(self) -> int:
        return self.most

    def allows(self, value: frozenset[str]) -> bool:
        return len(value) <= self.most

    def conditions(self, known: KnownNames) -> Sequence[IdCondition]:
        return ()


@dataclass(frozen=True, slots=True)
class SiblingsRequest(CandidateRequest):
    """A request with a further rule."""

    siblings: bool = True


class Siblings(Constraint):
    """The providers of all slots have the same parent."""

    code = Refusal.SPREAD
    applies = attrgetter("request.siblings")

    def __init__(self, slots: Sequence[int], parents: Sequence[int]) -> None:
        self.slots = frozenset(slots)
        self._parents = parents
        self._placed: list[int] = []

    @classmethod
    def signature(cls, plan: SearchPlan, pool: Pool) -> Hashable:
        return tuple([member.parent for member in pool.members])

    @classmethod
    def stated(cls, request: CandidateRequest) -> Sequence[StatedTerm]:
        is_stated = isinstance(request, SiblingsRequest) and request.siblings
        return [StatedTerm(cls.code, "siblings", None, "true")] if is_stated else []

    @classmethod
    def without(cls, request: CandidateRequest, rule: StatedTerm) -> CandidateRequest:
        assert isinstance(request, SiblingsRequest)
        return replace(request, siblings=False)

    @classmethod
    def build(
        cls, plan: SearchPlan, pool: Pool, options: Sequence[OptionList], spend: Charge
    ) -> Sequence[Self]:
        return [cls(range(len(plan.slots)), [member.parent for member in pool.members])]

    def add(self, slot: int, provider: int) -> Undo | None:
        parent = self._parents[provider]
        if self._placed and self._placed[-1] != parent:
            return None
        self._placed.append(parent)
        return self._placed.pop


def providers() -> Iterator[Provider]:
    """Hosts whose root has VCPU; a device below it has no traits, and two below that have some."""
    for host in range(HOSTS):
        root = 4 * host + 1
        yield Provider({"VCPU": 8})
        yield Provider({"VGPU": 2}, parent=root)
        yield Provider({"FPGA": 2}, ("CUSTOM_A", "CUSTOM_B"), root)
        yield Provider({"PGPU": 2}, ("CUSTOM_A",), root + 1)


class Results(NamedTuple):
    """Whether each operation serves a request, and what an explanation says."""

    operations: set[bool]
    text: str


@pytest.fixture(scope="module")
def searcher(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Searcher]:
    searcher = loaded(tmp_path_factory.mktemp("added"), Cloud("devices", providers))
    yield searcher
    searcher.database.dispose()


def send(searcher: Searcher, request: CandidateRequest) -> Results:
    trees, settings = searcher.trees, searcher.settings.candidates
    change = ClaimOnCopies(request)
    with searcher.database.read_trees() as conn:
        result = find_candidates(conn, trees, request, settings)
        explanation = explain(result.scan, trees, settings)
        headroom = find_headroom(conn, trees, HeadroomQuery({"one": request}), settings)["one"]
        simulation = simulate(conn, trees, SimulationRequest([change], lambda _: request), settings)
    assert explanation.hosts.served == headroom.total.hosts == len(result.candidates)
    operations = {
        bool(result.candidates),
        explanation.hosts.served > 0,
        headroom.total.fits > 0,
        headroom.total.at_most != 0,
        not isinstance(simulation.claims[0], Unplaced),
    }
    return Results(operations, explanation.text)


def groups(*classes: str, terms: Sequence[Term] = ()) -> Sequence[RequestGroup]:
    return tuple(RequestGroup(f"_{name}", ((name, 1),), tuple(terms)) for name in classes)


@pytest.mark.parametrize(("most", "served"), [(2, True), (1, False)])
def test_all_operations_evaluate_an_added_term(searcher: Searcher, most: int, served: bool) -> None:
    request = CandidateRequest(tuple(groups("FPGA", terms=[FewTraits(most)])))
    operations, text = send(searcher, request)
    assert operations == {served}
    assert served or text.endswith(f"Without most_traits={most}, 3 hosts would serve.")


@pytest.mark.parametrize(
    ("classes", "served"), [(("VGPU", "FPGA"), True), (("VGPU", "PGPU"), False)]
)
def test_all_operations_evaluate_an_added_constraint(
    searcher: Searcher, monkeypatch: pytest.MonkeyPatch, classes: Sequence[str], served: bool
) -> None:
    monkeypatch.setattr(constraints, "CONSTRAINTS", (*CONSTRAINTS, Siblings))
    operations, text = send(searcher, SiblingsRequest(tuple(groups(*classes))))
    assert operations == {served}
    assert served or text.endswith("Without siblings=true, 3 hosts would serve.")
