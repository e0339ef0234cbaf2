"""The hosts of an explanation, added up: nothing here grows with their number."""

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from placement.candidates.explanation import wording
from placement.candidates.explanation.extremes import measures, wider_at
from placement.candidates.explanation.profiles import (
    Extreme,
    Fall,
    FallCause,
    Profile,
    Verdict,
)
from placement.candidates.explanation.question import Question
from placement.candidates.explanation.terms import StatedTerm
from placement.candidates.explanation.together import SumCauses
from placement.candidates.explanation.value import Blocked, Relaxed, Step
from placement.candidates.explanation.verdicts import Judge
from placement.candidates.explanation.wording import Loss, Words
from placement.candidates.model import Pool, Tree
from placement.candidates.trace import Refusal
from placement.vocabulary import SHARING_TRAIT

MOST_EXAMPLES = 5
MOST_VERDICTS = 10_000  # kept at a time
MOST_CAUSES = 1000  # told apart, of one step
MOST_NAMED = 3  # hosts that the request names
MOST_SHARING = 100  # providers that alone have room, for hosts that are alike


@dataclass(slots=True)
class Fallen:
    """The hosts that fell out at one step."""

    code: Refusal
    hosts: int = 0
    # How many of them the text mentions by themselves.
    aside: int = 0
    # Some hosts, and some of those that only share.
    examples: list[str] = field(default_factory=list)
    pools: list[str] = field(default_factory=list)
    # FallCause -> hosts, and those of them that the text does not mention by themselves.
    causes: Counter[FallCause] = field(default_factory=Counter)
    plain: Counter[FallCause] = field(default_factory=Counter)
    # FallCause -> class -> what inventories have.
    extremes: dict[FallCause, dict[str, Extreme]] = field(default_factory=dict)
    # FallCause -> UUIDs of the sharing providers that alone have room.
    sharing: dict[FallCause, set[str]] = field(default_factory=dict)

    def add(self, verdict: Verdict) -> None:
        """Add the hosts of a verdict."""
        self.hosts += verdict.hosts
        self.aside += verdict.aside
        self.examples += verdict.examples[: MOST_EXAMPLES - len(self.examples)]
        self.pools += verdict.pools[: MOST_EXAMPLES - len(self.pools)]
        for fall in verdict.falls:
            if fall.sharing:
                uuids = verdict.sharing.get(fall.slot, ())
                self.sharing.setdefault(fall.cause, set()).update(uuids)
        # Slots that ask the same have one cause.
        for cause in dict.fromkeys(fall.cause for fall in verdict.falls):
            kept = cause
            if cause not in self.causes and len(self.causes) >= MOST_CAUSES:
                kept = FallCause(cause.terms[-1:])  # of which there are no more than terms
            self.causes[kept] += verdict.hosts
            self.plain[kept] += verdict.hosts - verdict.aside
            by_class = self.extremes.setdefault(kept, {})
            for measure in verdict.measures:
                if measure.cause == cause and measure.extreme is not None:
                    known = by_class.get(measure.name)
                    code = cause.by or self.code
                    by_class[measure.name] = wider_at(code, known, measure.extreme)

    def losses(self, causes: Counter[FallCause]) -> Sequence[Loss]:
        """Return causes, those of most hosts first."""
        return [
            Loss(cause, hosts, self.extremes.get(cause, {}), sorted(self.sharing.get(cause, ())))
            for cause, hosts in causes.most_common()
            if hosts
        ]


class Tally:
    """Hosts by what became of them."""

    def __init__(self, question: Question, judge: Judge) -> None:
        self.looked = 0
        self.served = 0
        self.undecided = 0
        # Hosts that share what they have and lack a class of the request.
        self.pools = 0
        # Clauses about hosts that the request names.
        self.named: list[str] = []
        self._question = question
        self._judge = judge
        self._sums = None if question.split else SumCauses(judge)
        self._words = Words(question.joins.plan, several=len(question.groups) > 1)
        self._verdicts: dict[Hashable, Verdict] = {}
        self._kept = 0  # verdicts and variants of them
        # Suffix -> code -> hosts; for hosts whose root is refused the suffix is None.
        self._by_group: dict[str | None, Counter[Refusal]] = {
            suffix: Counter() for suffix in (None, *question.groups)
        }
        # (suffix, code) -> the terms that took hosts away.
        self._terms: dict[tuple[str | None, Refusal], dict[StatedTerm, None]] = {}
        self._together: Counter[Refusal] = Counter()
        self._fallen: dict[tuple[Refusal, str | None], Fallen] = {}
        self._gains: Counter[int] = Counter()

    def add(self, pool: Pool) -> Verdict:
        """Count a host.  Raises BudgetSpentError before it is counted."""
        anchor = pool.anchor
        assert anchor is not None
        root = self._question.root
        mask = root.root_mask(anchor.members[0]) if root.terms else 0
        profile = self._judge.profile(pool, mask)
        verdict = self._verdicts.get(profile) or self._verdict_of(profile, pool)
        if verdict.has_variants:
            verdict = self._variant_of(verdict, pool)
        self.looked += 1
        verdict.hosts += 1
        if not verdict.falls:
            return verdict
        examples = verdict.examples
        if SHARING_TRAIT in anchor.members[0].traits and self._question.only_shares(anchor):
            self.pools += 1
            verdict.aside += 1
            examples = verdict.pools
        elif self._question.places and self._is_named(anchor):
            verdict.aside += 1
            self.named.append(self._clause_of(anchor, pool, verdict))
        if len(examples) < MOST_EXAMPLES:
            examples.append(anchor.uuid)
        _note(verdict, pool)
        return verdict

    def _is_named(self, anchor: Tree) -> bool:
        """Whether the request names a host, of which the text has something to say."""
        places = self._question.places
        return len(self.named) < MOST_NAMED and any(term.positions(anchor) for term in places)

    def _verdict_of(self, profile: Profile, pool: Pool) -> Verdict:
        """Decide the hosts of a profile."""
        verdict = self._judge.verdict(profile, pool)
        if self._kept >= MOST_VERDICTS:
            self._fold()
        self._kept += 1
        self._verdicts[profile] = verdict
        verdict.measures = list(measures(verdict.falls))
        if self._sums is not None and verdict.falls:
            verdict.has_variants = verdict.falls[0].code is Refusal.CAPACITY_SUM
        return verdict

    def _variant_of(self, verdict: Verdict, pool: Pool) -> Verdict:
        """Return what holds for those of these hosts where the same stands in the way."""
        assert self._sums is not None
        key = self._sums.key(pool)
        variant = verdict.variants.get(key)
        if variant is None:
            variant = verdict.variants[key] = verdict.variant(self._sums.fall(pool, verdict))
            variant.measures = list(measures(variant.falls))
            self._kept += 1
        return variant

    def _clause_of(self, anchor: Tree, pool: Pool, verdict: Verdict) -> str:
        """Return why a single host is not served."""
        fallen = Fallen(verdict.falls[0].code)
        alone = Verdict(verdict.falls, hosts=1, measures=list(measures(verdict.falls)))
        _note(alone, pool)
        fallen.add(alone)
        losses = fallen.losses(fallen.causes)
        clauses = [self._words.clause(fallen.code, loss) for loss in losses]
        return f"host {anchor.uuid} {', and '.join(clauses)}"

    def _fold(self) -> None:
        """Add up what the verdicts say, and forget them."""
        for verdict in self._verdicts.values():
            for each in (verdict, *verdict.variants.values()):
                self._count(each)
        self._verdicts.clear()
        self._kept = 0

    def _count(self, verdict: Verdict) -> None:
        hosts = verdict.hosts
        if not hosts:
            return
        self.undecided += verdict.undecided * hosts
        if not verdict.falls:
            self.served += hosts
            return
        fall = verdict.falls[0]
        step = fall.code, fall.group
        if step not in self._fallen:
            self._fallen[step] = Fallen(fall.code)
        self._fallen[step].add(verdict)
        for place in verdict.gains:
            self._gains[place] += hosts
        # A host whose root is refused has no provider for any group.
        by_group: dict[str | None, Sequence[Fall]] = dict(verdict.by_group.items())
        if fall.group is None and fall.cause.terms:
            by_group = {None: verdict.falls}
        for suffix, falls in by_group.items():
            self._by_group[suffix][falls[0].code] += hosts
            for each in falls:
                terms = self._terms.setdefault((suffix, each.code), {})
                terms.update(dict.fromkeys(each.cause.terms))
        if not by_group:
            self._together[fall.code] += hosts

    def gain(self, place: int) -> None:
        """Count a host that would be served with a relaxation, which its verdict does not know."""
        self._gains[place] += 1

    # -- what it comes to ----------------------------------------------------------------------

    def end(self) -> None:
        """Add up all hosts; then the rest can be asked for."""
        self._fold()

    def groups(self) -> Mapping[str, Sequence[Step]]:
        """Return the steps of each group."""
        return {suffix: list(self._steps(suffix)) for suffix in self._question.groups}

    def _steps(self, suffix: str) -> Iterator[Step]:
        before = self.looked
        for code in self._question.codes_of(suffix):
            after = before
            blamed: dict[StatedTerm, None] = {}
            for part in (None, suffix):
                after -= self._by_group[part][code]
                blamed |= self._terms.get((part, code), {})
            # In the order of the request; all that is asked where it took no host.
            terms = self._question.terms_of(suffix, code)
            detail = wording.asked([term for term in terms if term in blamed] or terms)
            yield Step(code, detail, before, after)
            before = after

    def together(self) -> Sequence[Step]:
        """Return the steps of what joins groups."""
        steps = []
        before = self.served + self._together.total()
        codes = list(self._question.joining_codes)
        if self._together[Refusal.BUDGET]:
            codes.append(Refusal.BUDGET)
        for code in codes:
            after = before - self._together[code]
            steps.append(Step(code, self._words.joined(code), before, after))
            before = after
        return steps

    def blocked(self) -> Sequence[Blocked]:
        """Return where hosts fell out, most hosts first."""
        order = list(Refusal)
        fallen = sorted(
            self._fallen.items(), key=lambda item: (-item[1].hosts, order.index(item[0][0]))
        )
        return [self._blocked(code, group, hosts) for (code, group), hosts in fallen]

    def _blocked(self, code: Refusal, group: str | None, fallen: Fallen) -> Blocked:
        detail = self._words.detail(code, fallen.losses(fallen.causes), fallen.hosts)
        clauses = self._words.clauses(code, fallen.losses(fallen.plain))
        examples = [*fallen.examples, *fallen.pools][:MOST_EXAMPLES]
        return Blocked(code, group, detail, fallen.hosts, examples, clauses, fallen.aside)

    def relaxed(self) -> Sequence[Relaxed]:
        """Return the terms without which more hosts would be served, most first."""
        relaxations = self._question.relaxations
        return [
            Relaxed(relaxations[place].term, self.served + hosts)
            for place, hosts in sorted(self._gains.items(), key=lambda item: (-item[1], item[0]))
        ]


def _note(verdict: Verdict, pool: Pool) -> None:
    """Note what a host has of what it failed.  PERF: every host comes here."""
    members = pool.members
    for measure in verdict.measures:
        measure.note(members)
    for fall in verdict.falls:
        if fall.sharing:
            uuids = verdict.sharing.setdefault(fall.slot, set())
            if len(uuids) < MOST_SHARING:
                uuids.update([members[position].uuid for position in fall.sharing])
