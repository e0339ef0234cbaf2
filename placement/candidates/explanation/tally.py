"""The hosts of an explanation, added up: nothing here grows with their number."""

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from falcon_placement_client.inventory import Stock
from placement.candidates.explanation import wording
from placement.candidates.explanation.profiles import Fall, Verdict
from placement.candidates.explanation.question import Question
from placement.candidates.explanation.terms import StatedTerm
from placement.candidates.explanation.value import Blocked, Relaxed, Step
from placement.candidates.explanation.verdicts import Judge
from placement.candidates.model import Pool
from placement.candidates.trace import Refusal

MOST_EXAMPLES = 5
MOST_VERDICTS = 10_000  # kept at a time

# What is told of the inventories at which hosts fall out: the most, or the least, of what.
_EXTREMES: Mapping[Refusal, tuple[Callable[[int, int], int], Callable[[Stock], int]]] = {
    Refusal.MIN_UNIT: (min, lambda stock: stock.min_unit),
    Refusal.MAX_UNIT: (max, lambda stock: stock.max_unit),
    Refusal.STEP_SIZE: (min, lambda stock: stock.step_size),
    Refusal.CAPACITY: (max, lambda stock: stock.capacity - stock.used),
}


@dataclass(slots=True)
class Fallen:
    """The hosts that fell out at one step.

    terms: the terms to blame, by hosts. extremes: term -> the most, or least, that inventories
    have.
    """

    hosts: int = 0
    examples: list[str] = field(default_factory=list)
    terms: Counter[StatedTerm] = field(default_factory=Counter)
    extremes: dict[StatedTerm, int] = field(default_factory=dict)


class Tally:
    """Hosts by what became of them."""

    def __init__(self, question: Question, judge: Judge) -> None:
        self.looked = 0
        self.served = 0
        self.undecided = 0
        self._question = question
        self._judge = judge
        self._verdicts: dict[Hashable, Verdict] = {}
        self._by_root: Counter[Refusal] = Counter()
        self._by_group: dict[str, Counter[Refusal]] = {
            suffix: Counter() for suffix in question.groups
        }
        self._together: Counter[Refusal] = Counter()
        self._fallen: dict[tuple[Refusal, str | None], Fallen] = {}
        self._gains: Counter[int] = Counter()

    def add(self, pool: Pool) -> Verdict:
        """Count a host.  Raises BudgetSpentError before it is counted."""
        anchor = pool.anchor
        assert anchor is not None
        profile = self._judge.profile(pool, self._question.root.root_mask(anchor.root))
        verdict = self._verdicts.get(profile)
        if verdict is None:
            verdict = self._judge.verdict(profile, pool)
            if len(self._verdicts) >= MOST_VERDICTS:
                self._fold()
            self._verdicts[profile] = verdict
        self.looked += 1
        verdict.hosts += 1
        fall = verdict.fall
        if fall is not None:
            if len(verdict.examples) < MOST_EXAMPLES:
                verdict.examples.append(anchor.uuid)
            if fall.code in _EXTREMES:
                verdict.extreme = _extreme_of(pool, fall, verdict.extreme)
        return verdict

    def _fold(self) -> None:
        """Add up what the verdicts say, and forget them."""
        for verdict in self._verdicts.values():
            self._count(verdict)
        self._verdicts.clear()

    def _count(self, verdict: Verdict) -> None:
        hosts, fall = verdict.hosts, verdict.fall
        self.undecided += verdict.undecided * hosts
        if fall is None:
            self.served += hosts
            return
        fallen = self._fallen.setdefault((fall.code, fall.group), Fallen())
        fallen.hosts += hosts
        fallen.examples += verdict.examples[: MOST_EXAMPLES - len(fallen.examples)]
        if fall.term is not None:
            fallen.terms[fall.term] += hosts
            if verdict.extreme is not None:
                choose, _of_stock = _EXTREMES[fall.code]
                extreme = fallen.extremes.get(fall.term, verdict.extreme)
                fallen.extremes[fall.term] = choose(extreme, verdict.extreme)
        for place in verdict.gains:
            self._gains[place] += hosts
        # A host whose root is refused has no provider for any group.
        if fall.group is None and fall.term is not None:
            self._by_root[fall.code] += hosts
            return
        for suffix, code in verdict.by_group.items():
            self._by_group[suffix][code] += hosts
        if not verdict.by_group:
            self._together[fall.code] += hosts

    # -- what it comes to ----------------------------------------------------------------------

    def end(self) -> None:
        """Add up all hosts; then the rest can be asked for."""
        self._fold()

    def groups(self) -> Mapping[str, Sequence[Step]]:
        """Return the steps of each group."""
        return {
            suffix: list(self._steps(suffix, self._by_root + self._by_group[suffix]))
            for suffix in self._question.groups
        }

    def _steps(self, suffix: str, falls: Mapping[Refusal, int]) -> Iterator[Step]:
        before = self.looked
        for code in self._question.codes_of(suffix):
            detail = wording.asked(self._question.terms_of(suffix, code))
            after = before - falls.get(code, 0)
            yield Step(code, detail, before, after)
            before = after

    def together(self) -> Sequence[Step]:
        """Return the steps of what joins groups."""
        steps = []
        before = self.served + self._together.total()
        for code in self._question.joining_codes:
            after = before - self._together[code]
            detail = wording.joined(self._question.joins.plan, code)
            steps.append(Step(code, detail, before, after))
            before = after
        if self._together[Refusal.BUDGET]:
            detail = wording.joined(self._question.joins.plan, Refusal.BUDGET)
            steps.append(Step(Refusal.BUDGET, detail, before, self.served))
        return steps

    def blocked(self) -> Sequence[Blocked]:
        """Return where hosts fell out, most hosts first."""
        order = list(Refusal)
        fallen = sorted(
            self._fallen.items(), key=lambda item: (-item[1].hosts, order.index(item[0][0]))
        )
        return [self._blocked(code, group, hosts) for (code, group), hosts in fallen if hosts.hosts]

    def _blocked(self, code: Refusal, group: str | None, fallen: Fallen) -> Blocked:
        terms = [(term, fallen.extremes.get(term)) for term, _hosts in fallen.terms.most_common()]
        if terms:
            several = len(self._question.groups) > 1
            detail = wording.refused(terms)
            phrase = wording.lacking(terms, fallen.hosts, several)
        else:
            detail = wording.joined(self._question.joins.plan, code)
            phrase = wording.unjoined(self._question.joins.plan, code, fallen.hosts)
        return Blocked(code, group, detail, phrase, fallen.hosts, fallen.examples)

    def relaxed(self) -> Sequence[Relaxed]:
        """Return the terms without which more hosts would be served, most first."""
        relaxations = self._question.relaxations
        return [
            Relaxed(relaxations[place].term, self.served + hosts)
            for place, hosts in sorted(self._gains.items(), key=lambda item: (-item[1], item[0]))
        ]


def _extreme_of(pool: Pool, fall: Fall, extreme: int | None) -> int:
    """Return the extreme of what a host's inventories have, and of that of the hosts before it."""
    assert fall.term is not None
    choose, of_stock = _EXTREMES[fall.code]
    name = fall.term.resource_class
    for position in fall.providers:
        value = of_stock(pool.members[position].stocks[name])
        extreme = value if extreme is None else choose(extreme, value)
    assert extreme is not None
    return extreme
