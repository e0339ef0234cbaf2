"""The totals of an explanation, whose size does not depend on the number of hosts."""

from collections import Counter
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence

from placement.candidates.explanation.context import Names
from placement.candidates.explanation.extremes import measures
from placement.candidates.explanation.mentioned import MentionedHosts
from placement.candidates.explanation.nouns import asked
from placement.candidates.explanation.profiles import Fall, Profile, Verdict
from placement.candidates.explanation.question import Question
from placement.candidates.explanation.rejected import MAX_EXAMPLES, RejectedHosts, note
from placement.candidates.explanation.terms import StatedTerm
from placement.candidates.explanation.together import SumCauses
from placement.candidates.explanation.value import Blocked, Mentions, Relaxed, Step
from placement.candidates.explanation.verdicts import Judge
from placement.candidates.explanation.wording import Words
from placement.candidates.model import Pool
from placement.candidates.trace import Refusal

MAX_VERDICTS = 10_000  # kept at a time


class Tally:
    """Hosts by what became of them."""

    def __init__(self, question: Question, judge: Judge) -> None:
        self.looked = 0
        self.served = 0
        self.undecided = 0
        self._mentioned = MentionedHosts(question)
        self._question = question
        self._judge = judge
        self._sums = None if question.split else SumCauses(judge)
        self.name({})
        self._verdicts: dict[Hashable, Verdict] = {}
        self._kept = 0  # verdicts and variants of them
        # Suffix -> code -> hosts; for hosts whose root is refused the suffix is None.
        self._by_group: dict[str | None, Counter[Refusal]] = {
            suffix: Counter() for suffix in (None, *question.groups)
        }
        # (suffix, code) -> the terms that took hosts away.
        self._terms: dict[tuple[str | None, Refusal], dict[StatedTerm, None]] = {}
        self._together: Counter[Refusal] = Counter()
        self._rejected: dict[tuple[Refusal, str | None], RejectedHosts] = {}
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
        pools = self._mentioned.pools
        self._mentioned.add(pool, verdict)
        examples = verdict.examples if self._mentioned.pools == pools else verdict.pools
        if len(examples) < MAX_EXAMPLES:
            examples.append(anchor.uuid)
        note(verdict, pool)
        return verdict

    def _verdict_of(self, profile: Profile, pool: Pool) -> Verdict:
        """Decide the hosts of a profile."""
        verdict = self._judge.verdict(profile, pool)
        if self._kept >= MAX_VERDICTS:
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
        if step not in self._rejected:
            self._rejected[step] = RejectedHosts(fall.code)
        self._rejected[step].add(verdict)
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

    def end(self) -> Collection[str]:
        """Add up all hosts, and return the UUIDs of the providers to call by their names."""
        self._fold()
        steps = self._rejected.values()
        return set(self._mentioned.uuids).union(*(rejected.uuids for rejected in steps))

    def name(self, names: Names) -> None:
        """Set the names of providers; before, their UUIDs stand for them."""
        self._names = names
        self._words = Words(self._question.joins.plan, names)

    def mentions(self) -> Mentions:
        """Return what the text says besides the reasons of most hosts."""
        return self._mentioned.mentions(self._words, self._names)

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
            detail = asked([term for term in terms if term in blamed] or terms)
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
            steps.append(Step(code, self._words.asked_together(code), before, after))
            before = after
        return steps

    def blocked(self) -> Sequence[Blocked]:
        """Return where hosts fell out, most hosts first."""
        order = list(Refusal)
        rejected = sorted(
            self._rejected.items(), key=lambda item: (-item[1].hosts, order.index(item[0][0]))
        )
        return [self._blocked(code, group, hosts) for (code, group), hosts in rejected]

    def _blocked(self, code: Refusal, group: str | None, rejected: RejectedHosts) -> Blocked:
        detail = self._words.detail(code, rejected.losses(), rejected.hosts)
        clauses = self._words.clauses(code, rejected.losses(with_aside=False))
        examples = [*rejected.examples, *rejected.pools][:MAX_EXAMPLES]
        return Blocked(code, group, detail, rejected.hosts, examples, clauses, rejected.aside)

    def relaxed(self) -> Sequence[Relaxed]:
        """Return the terms without which more hosts would be served, most first."""
        relaxations = self._question.relaxations
        return [
            Relaxed(relaxations[place].term, self.served + hosts)
            for place, hosts in sorted(self._gains.items(), key=lambda item: (-item[1], item[0]))
        ]
