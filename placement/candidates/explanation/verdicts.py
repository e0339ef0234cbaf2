"""Whether a host is served, and where it falls out if not: decided once for hosts that are alike.

Masks tell all of single groups. What joins them is put to the solver, with the constraints of the
request, up to its first assignment. Hosts are alike that have equal masks and, as far as the
request joins slots, an equal signature of each constraint.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import reduce
from operator import and_

from placement.candidates.budget import Budget, BudgetSpentError
from placement.candidates.explanation.falls import GroupFalls
from placement.candidates.explanation.joining import joining_cause
from placement.candidates.explanation.profiles import (
    ORDER,
    Fall,
    FallCause,
    Profile,
    Verdict,
    first_fall,
)
from placement.candidates.explanation.question import Joins, Kinds, Question, Relaxation
from placement.candidates.explanation.screens import Screen
from placement.candidates.explanation.terms import StatedTerm
from placement.candidates.model import Pool
from placement.candidates.plan import SearchPlan
from placement.candidates.search.anchors import solutions
from placement.candidates.terms import Masks, bits, each_mask, lowest
from placement.candidates.trace import Refusal

# A host that takes the solver longer than this part of all work is left undecided.
SHARE = 16
# Of requests that say less: slots and terms of those whose joins are kept.
MAX_KEPT_PARTS = 50_000

# What it takes to look whether a relaxation may help a host, and to join one slot anew.
LOOKS_PER_RELAXATION = 8
LOOKS_PER_SLOT = 24
# What it takes to decide a host that no other is like, and each of its slots by itself.
LOOKS_PER_VERDICT = 200
LOOKS_PER_FALL = 35


class Judge:
    """Decides hosts, one pool at a time."""

    def __init__(self, question: Question, budget: Budget, max_steps: int) -> None:
        self.question = question
        self.budget = budget
        self.share = max(1, max_steps // SHARE)
        # By the places of relaxations. PERF: the first stay, as all hosts need all in one order.
        self._joins: dict[int, Joins] = {}

    def profile(self, pool: Pool, root_mask: int) -> Profile:
        """Return the profile of a host; root_mask: that of its root."""
        if root_mask & (root_mask - 1):
            return Profile(root_mask)  # no single relaxation helps, so nothing else matters
        return Profile(
            root_mask, self.question.masks(pool), self.signatures(pool), len(pool.reached)
        )

    def signatures(self, pool: Pool) -> tuple[Hashable, ...]:
        """Return all that is read of a pool besides masks."""
        joins = self.question.joins
        return signatures(joins, pool) if joins.kinds else ()

    def verdict(self, profile: Profile, pool: Pool) -> Verdict:
        """Decide the hosts that have the profile of this pool.  Raises BudgetSpentError."""
        self.budget.spend(
            LOOKS_PER_VERDICT
            + LOOKS_PER_FALL * len(self.question.screens)
            + 4 * sum(len(itself) + len(as_root) for itself, as_root in profile.masks)
        )
        falls = self._falls_of_root(profile.root)
        if falls and not profile.masks:
            return Verdict(falls)
        return self.case(pool, profile).verdict(falls)

    def _falls_of_root(self, mask: int) -> list[Fall]:
        """Return the terms of the first code that a root fails."""
        terms = [self.question.root_terms[bit.bit_length() - 1] for bit in bits(mask)]
        return [
            Fall(term.code, None, FallCause((term,)), providers=(0,))
            for term in terms
            if term.code is terms[0].code
        ]

    def case(self, pool: Pool, profile: Profile) -> "Case":
        """Return the host as an example of those with its profile."""
        return Case(self, pool, profile)

    def joins_without(self, place: int) -> Joins:
        """Return what joins the slots without a term, by its place.  Raises BudgetSpentError."""
        joins = self._joins.get(place)
        if joins is None:
            self.spend_on_plan()
            joins = Joins.of(self.question.relaxations[place].without())
            if (len(self._joins) + 1) * self.question.parts <= MAX_KEPT_PARTS:
                self._joins[place] = joins
        return joins

    def spend_on_plan(self) -> None:
        """Count the work of planning a request like the one asked.  Raises BudgetSpentError."""
        self.budget.spend(self.question.plan_looks)

    def serves(
        self, plan: SearchPlan, kinds: Kinds, pool: Pool, options: Sequence[Sequence[int]]
    ) -> bool | None:
        """Whether there is an assignment under constraints of these kinds.

        None where that takes more than a share of all work.  Raises BudgetSpentError.
        """
        if not all(options):
            return False
        if not kinds:
            return True
        self.budget.spend(LOOKS_PER_SLOT * (len(plan.slots) + len(plan.request.same_subtree)))
        return self.within_share(
            lambda budget: any(True for _ in solutions(kinds, plan, pool, options, budget, _ignore))
        )

    def within_share(self, decide: Callable[[Budget], bool]) -> bool | None:
        """Return what is decided; None where that takes more than a share of all work.

        Raises BudgetSpentError where all work is done.
        """
        budget = Budget(self.share)
        try:
            return decide(budget)
        except BudgetSpentError:
            return None
        finally:
            self.budget.spend(budget.looks)


class Case:
    """One host, as an example of all that are alike."""

    def __init__(self, judge: Judge, pool: Pool, profile: Profile) -> None:
        question = judge.question
        self._judge = judge
        self._question = question
        self._pool = pool
        self._root = profile.root
        self._masks = profile.masks
        # Slots that ask the same share a list of options, as constraints like them to.
        by_screen = [
            screen.providers(of_screen)
            for screen, of_screen in zip(question.distinct, profile.masks, strict=True)
        ]
        self._options = [by_screen[place] for place in question.place]
        self._groups = GroupFalls(question, pool, profile.masks)
        # The terms that are all that some provider fails, of each slot.
        narrow = list(map(_failed_alone, question.distinct, profile.masks))
        self._narrow = [narrow[place] for place in question.place]

    def verdict(self, of_root: Sequence[Fall]) -> Verdict:
        """Return the verdict; of_root: where the root falls out.  Raises BudgetSpentError."""
        # Each group alone. Of several that fall out, the one at the first code is to blame.
        lost = {suffix: self._groups.of_group(suffix) for suffix in self._question.groups}
        by_group = {suffix: falls for suffix, falls in lost.items() if falls}
        first = first_fall(falls[0] for falls in by_group.values())
        falls = of_root or (by_group[first.group or ""] if first else ())

        # All groups together; what cannot be served singly cannot be served so either.
        possible = not by_group and self._possible()
        falls = falls or self._falls_together(possible)
        if not falls:
            return Verdict()

        # What would serve the host, if it were not asked.
        verdict = Verdict(
            falls, by_group, (), self._masks, self._options, root_refused=self._root != 0
        )
        verdict.is_outside = self._is_outside()
        verdict.undecided = falls[0].code is Refusal.BUDGET
        try:
            _note_gains(verdict, self._gains(by_group, possible))
        except BudgetSpentError:
            # Why the host falls out is known all the same.
            verdict.undecided = True
        return verdict

    def _is_outside(self) -> bool:
        """Whether no provider of the host is in a tree or subtree that a group names."""
        return bool(self._question.places) and any(
            screen.places & reduce(and_, [mask for _position, mask in each_mask(masks)])
            for screen, masks in zip(self._question.distinct, self._masks, strict=True)
        )

    def _possible(self) -> bool | None:
        joins = self._question.joins
        return self._judge.serves(joins.plan, joins.kinds, self._pool, self._options)

    def _may_miss(self, term: StatedTerm) -> bool:
        """Whether no other trait than a term is missing, so that the host may do without it."""
        return self._groups.missing <= {term}

    def _falls_together(self, possible: bool | None) -> Sequence[Fall]:
        """Return the first code up to which no assignment keeps what joins the groups."""
        if possible:
            return ()
        return (Fall(Refusal.BUDGET, None) if possible is None else self._fall_together(),)

    def _fall_together(self) -> Fall:
        joins = self._question.joins
        for code in self._question.joining_codes:
            kinds = [kind for kind in joins.kinds if ORDER[kind.code] <= ORDER[code]]
            serves = self._judge.serves(joins.plan, kinds, self._pool, self._options)
            if serves is None:
                return Fall(Refusal.BUDGET, None)
            if not serves:
                cause = joining_cause(code, joins.plan, self._options, self._serves_under)
                return Fall(code, None, cause)
        raise AssertionError("the constraints of all codes together refuse")

    def _serves_under(self, code: Refusal) -> bool | None:
        joins = self._question.joins
        kinds = [kind for kind in joins.kinds if kind.code is code]
        return self._judge.serves(joins.plan, kinds, self._pool, self._options)

    # -- what would serve ----------------------------------------------------------------------

    def _gains(
        self, by_group: Mapping[str, Sequence[Fall]], possible: bool | None
    ) -> list[tuple[int, bool | None]]:
        """Return for each relaxation that may help whether the host would be served."""
        gains: list[tuple[int, bool | None]] = []
        self._judge.budget.spend(LOOKS_PER_RELAXATION * len(self._question.relaxations))
        for place, relaxation in enumerate(self._question.relaxations):
            # What falls out in one group cannot be helped by another.
            suffix = relaxation.term.suffix
            if not by_group.keys() <= {suffix} or self._root & ~relaxation.root:
                continue
            gain = self._gain(place, possible)
            if gain is not False:
                gains.append((place, gain))
        return gains

    def _gain(self, place: int, possible: bool | None) -> bool | None:
        """Return whether the host would be served with a relaxation, by its place."""
        relaxation = self._question.relaxations[place]
        if relaxation.root:
            return self._root != 0 and possible
        if not relaxation.slots:
            # What joins slots does not decide who may serve each of them.
            if not all(self._options) or not self._may_miss(relaxation.term):
                return False
            joins = self._judge.joins_without(place)
            return self._judge.serves(joins.plan, joins.kinds, self._pool, self._options)
        options = self._widened(relaxation)
        if options is None:
            return False
        joins = self._question.joins
        return self._judge.serves(joins.plan, joins.kinds, self._pool, options)

    def _widened(self, relaxation: Relaxation) -> Sequence[Sequence[int]] | None:
        """Return the options without the term; None where that makes no difference."""
        if not any(self._narrow[slot] & bit for slot, bit in relaxation.slots.items()):
            return None
        options = list(self._options)
        wider = False
        self._judge.budget.spend(len(self._pool.members) * len(relaxation.slots))
        for slot, dropped in relaxation.slots.items():
            screen = self._question.screens[slot]
            masks = self._masks[self._question.place[slot]]
            providers = screen.providers(masks, dropped)
            if len(providers) > len(options[slot]):
                options[slot] = providers
                wider = True
        return options if wider else None


def _note_gains(verdict: Verdict, gains: Sequence[tuple[int, bool | None]]) -> None:
    """Note which relaxations would serve the host; None: that is not decided."""
    verdict.undecided |= any(gain is None for _place, gain in gains)
    verdict.gains = tuple(place for place, gain in gains if gain)


def signatures(joins: Joins, pool: Pool) -> tuple[Hashable, ...]:
    """Return all that constraints read of a pool besides their options."""
    of_kinds = [kind.signature(joins.plan, pool) for kind in joins.kinds]
    return (*of_kinds, pool.reached)


def _failed_alone(screen: Screen, masks: Masks) -> int:
    """Return the bits of the terms that are all that some provider fails."""
    alone = 0
    for _position, mask in each_mask(masks):
        failed = mask & screen.hard
        if failed == lowest(failed):
            alone |= failed
    return alone


def _ignore(code: Refusal) -> None:
    """Note nothing of a refused placement."""
