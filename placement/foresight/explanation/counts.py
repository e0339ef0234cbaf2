"""The totals of an explanation. Their size does not depend on the number of hosts."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from placement.candidates.model import Pool, Refusal
from placement.candidates.request import StatedTerm
from placement.candidates.terms import Amount
from placement.foresight.explanation.causes import ORDER, Rejection
from placement.foresight.explanation.explained_plan import ExplainedPlan
from placement.foresight.explanation.fit import Fit
from placement.foresight.explanation.named_hosts import NamedHosts
from placement.foresight.explanation.rejected_hosts import (
    MAX_EXAMPLES,
    CauseHosts,
    RejectedHosts,
    Tally,
)
from placement.foresight.explanation.value import Blocked, Step
from placement.foresight.explanation.words.facts import Names
from placement.foresight.explanation.words.phrases import MAX_TERMS, amount_of, each_of, values_of
from placement.foresight.explanation.words.sentences import Words

# Code and suffix of a step.
Key = tuple[Refusal, str | None]

# Maximum number of tallies in memory.
MAX_TALLIES = 10_000


class HostCounts:
    """Counts hosts by result, code and cause."""

    def __init__(self, plan: ExplainedPlan) -> None:
        # Number of evaluated hosts.
        self.looked = 0
        # Number of hosts that can serve the request.
        self.served = 0
        # Number of evaluated trees that only share, and of those that can serve the request.
        self.sharing_trees = self.serving_trees = 0
        # UUIDs and classes of the providers of trees that only share.
        self.shared: set[str] = set()
        self._plan = plan
        # The rejected hosts in trees that the request names.
        self._named = NamedHosts(plan)
        # The hosts of each fit.
        self._tallies: dict[Fit, Tally] = {}
        # The rejected hosts by condition.
        self._steps = StepCounts(plan)
        # (code, suffix) -> the hosts rejected at this step.
        self._rejected: dict[Key, RejectedHosts] = {}
        # The same for the rejections that the text states.
        self._stated: dict[Key, RejectedHosts] = {}
        # States the reasons, with the names of providers once these are known.
        self._words = Words(plan, {})

    def tally(self, fit: Fit) -> Tally:
        """Return the tally of a fit.

        Raises:
            BudgetSpentError: The limit on work was reached.
        """
        tally = self._tallies.get(fit)
        if tally is None:
            others = [] if fit.stated is fit.rejections else fit.stated
            tally = Tally(fit, [*fit.rejections, *others])
            if len(self._tallies) >= MAX_TALLIES:
                self._fold()
            self._tallies[fit] = tally
        return tally

    def add(self, pool: Pool, tally: Tally) -> None:
        """Count a host."""
        self.looked += 1
        tally.hosts += 1
        if tally.fit.rejections:
            self._named.add(pool, tally.fit)
            if len(tally.examples) < MAX_EXAMPLES:
                tally.examples.append(pool.root)

    def add_sharing(self, tally: Tally) -> None:
        """Count a tree that only shares resources."""
        self.sharing_trees += 1
        self.serving_trees += not tally.fit.rejections

    def _fold(self) -> None:
        """Add the tallies to the totals, and delete them."""
        for tally in self._tallies.values():
            if tally.hosts:
                self._count(tally)
        self._tallies.clear()

    def _count(self, tally: Tally) -> None:
        fit = tally.fit
        if not fit.rejections:
            self.served += tally.hosts
            return
        self._steps.add(fit, tally.hosts)
        _add(self._rejected, tally, fit.rejections)
        _add(self._stated, tally, fit.stated)

    # -- results -------------------------------------------------------------------------------

    def end(self) -> set[str]:
        """Compute the totals, and return the UUIDs of providers whose names the text contains."""
        self._fold()
        steps = [*self._stated.values(), *self._rejected.values()]
        return self._named.uuids.union(*(rejected.uuids for rejected in steps))

    def name(self, names: Names) -> None:
        """Set the names of providers, which replace their UUIDs in the text."""
        self._words = Words(self._plan, names, self.shared)

    def by_code(self) -> Mapping[Refusal, int]:
        """Return the number of rejected hosts by code, most hosts first."""
        counts: Counter[Refusal] = Counter()
        for (code, _group), rejected in _sorted(self._rejected):
            counts[code] += rejected.hosts
        return dict(counts.most_common())

    def groups(self) -> Mapping[str, Sequence[Step]]:
        """Return the steps of each group."""
        return {
            suffix: list(self._steps.of_group(suffix, self.looked)) for suffix in self._plan.groups
        }

    def together(self) -> Sequence[Step]:
        """Return the steps of the conditions that join groups."""
        return list(self._steps.together(self.served, self._words))

    def blocked(self) -> Sequence[Blocked]:
        """Return the rejected hosts by step. Steps with the most hosts come first."""
        return [
            Blocked(
                code,
                group,
                self._words.detail(code, hosts.by_causes()),
                hosts.hosts,
                hosts.examples,
            )
            for (code, group), hosts in _sorted(self._rejected)
        ]

    def reasons(self) -> Sequence[str]:
        """Return a sentence about the reasons why hosts are rejected."""
        clauses = self._named.clauses(self._words, self.looked - self.served)
        if not clauses:
            stated: list[tuple[Refusal, CauseHosts]] = []
            for (code, _group), rejected in _sorted(self._stated):
                stated += [(code, each) for each in rejected.by_causes()]
            clauses = self._words.clauses(stated)
        text = "; ".join(clauses)
        return [f"{text[0].upper()}{text[1:]}."] if text else []

    def unreached(self, slots: Mapping[str, int]) -> Iterator[str]:
        """Yield sentences about sharing providers, each with a slot that it could serve."""
        for uuid, slot in [*slots.items()][:MAX_TERMS]:
            room = each_of([amount_of(Amount(*each)) for each in self._plan.slots[slot].resources])
            provider = f"The sharing provider {self._words.facts.label(uuid)}"
            yield f"{provider} has room for {room}, but no host is in its aggregates."


def _add(steps: dict[Key, RejectedHosts], tally: Tally, rejections: Sequence[Rejection]) -> None:
    key = rejections[0].code, rejections[0].group
    steps.setdefault(key, RejectedHosts()).add(tally, rejections)


def _sorted(steps: Mapping[Key, RejectedHosts]) -> list[tuple[Key, RejectedHosts]]:
    """Return steps in the order of their numbers of hosts, the most first, then of their codes."""
    return sorted(steps.items(), key=lambda item: (-item[1].hosts, ORDER[item[0][0]]))


class StepCounts:
    """Counts rejected hosts by the condition at which a group loses its last provider."""

    def __init__(self, plan: ExplainedPlan) -> None:
        self._plan = plan
        # (suffix, or None if the root is rejected; code) -> number of hosts.
        self._hosts: Counter[tuple[str | None, Refusal]] = Counter()
        # The same -> the terms that rejected hosts.
        self._terms: dict[tuple[str | None, Refusal], dict[StatedTerm, None]] = {}
        # Code -> number of hosts whose groups fit only separately.
        self._together: Counter[Refusal] = Counter()

    def add(self, fit: Fit, hosts: int) -> None:
        """Count the hosts of a fit, which are rejected."""
        # If the root is rejected, no provider can serve any group.
        by_group = {None: fit.rejections} if fit.root else fit.by_group
        for suffix, rejections in by_group.items():
            self._hosts[suffix, rejections[0].code] += hosts
            for each in rejections:
                terms = self._terms.setdefault((suffix, each.code), {})
                terms.update(dict.fromkeys(each.cause.terms))
        if not by_group:
            self._together[fit.rejections[0].code] += hosts

    def of_group(self, suffix: str, before: int) -> Iterator[Step]:
        """Yield the steps of a group; `before` is the number of evaluated hosts."""
        for code in self._plan.codes_of(suffix):
            keys = [(None, code), (suffix, code)]
            after = before - sum(self._hosts[key] for key in keys)
            rejecting = set().union(*[self._terms.get(key, ()) for key in keys])
            # The terms that rejected hosts, in the order of the request. If no term rejected a
            # host, all terms of the code.
            terms = self._plan.terms_of(suffix, code)
            detail = values_of([term for term in terms if term in rejecting] or terms)
            yield Step(code, detail, before, after)
            before = after

    def together(self, served: int, words: Words) -> Iterator[Step]:
        """Yield the steps of the conditions that join groups.

        Args:
            served: Number of hosts that serve the request.
            words: Returns the requirement of a code.
        """
        before = served + self._together.total()
        undecided = [Refusal.BUDGET] * bool(self._together[Refusal.BUDGET])
        for code in [*self._plan.joining_codes, *undecided]:
            after = before - self._together[code]
            yield Step(code, words.requirement(code), before, after)
            before = after
