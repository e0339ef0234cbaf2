"""The hosts that are rejected at one step, with the extreme values of their inventories."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from placement.candidates.explanation.evaluation import Evaluation, Extreme, RejectionCause
from placement.candidates.explanation.extremes import measures, merge_extremes
from placement.candidates.explanation.nouns import MAX_TERMS
from placement.candidates.model import Pool
from placement.candidates.trace import Refusal

MAX_EXAMPLES = 5
# Maximum number of sets of causes that are counted separately at one step.
MAX_CAUSES = 1000
# Maximum number of sets of causes in the text of one step.
MAX_TEXT_CAUSES = 10
# Maximum number of UUIDs of sharing providers for each slot of an evaluation.
MAX_SHARING = 100

# All causes of a rejection at one code.
Causes = tuple[RejectionCause, ...]


class CauseHosts(NamedTuple):
    """Hosts that are rejected at one code for the same causes."""

    # The causes, in the order of the slots.
    causes: Causes
    # Number of hosts.
    hosts: int
    # Cause -> class -> the largest or smallest value in their inventories.
    extremes: Mapping[RejectionCause, Mapping[str, Extreme]]
    # Cause -> UUIDs of the sharing providers, if only they have enough capacity.
    sharing: Mapping[RejectionCause, Collection[str]]


@dataclass(slots=True)
class _CauseTotals:
    """The totals of the hosts that are rejected at one step for the same causes."""

    # Number of hosts.
    hosts: int = 0
    # Number of these hosts that the text mentions separately.
    aside: int = 0
    # The extremes of each cause, as in `CauseHosts`.
    extremes: dict[RejectionCause, dict[str, Extreme]] = field(default_factory=dict)
    # The sharing providers of each cause, as in `CauseHosts`.
    sharing: dict[RejectionCause, set[str]] = field(default_factory=dict)


@dataclass(slots=True)
class RejectedHosts:
    """The hosts that are rejected at one step."""

    # The code of the step.
    code: Refusal
    # Number of hosts.
    hosts: int = 0
    # Number of these hosts that the text mentions separately.
    aside: int = 0
    # UUIDs of some hosts.
    examples: list[str] = field(default_factory=list)
    # UUIDs of some hosts that only share their inventories.
    pools: list[str] = field(default_factory=list)
    # Causes -> totals. Each host is counted once.
    _by_causes: dict[Causes, _CauseTotals] = field(default_factory=dict)

    def add(self, evaluation: Evaluation) -> None:
        """Add the hosts of an evaluation."""
        self.hosts += evaluation.hosts
        self.aside += evaluation.aside
        self.examples += evaluation.examples[: MAX_EXAMPLES - len(self.examples)]
        self.pools += evaluation.pools[: MAX_EXAMPLES - len(self.pools)]
        causes: Causes = (evaluation.rejections[0].cause,)
        if len(evaluation.rejections) > 1:
            # Slots with equal requests have the same cause.
            causes = tuple(dict.fromkeys(rejection.cause for rejection in evaluation.rejections))
        totals = self._by_causes.get(causes)
        if totals is None:
            if len(self._by_causes) >= MAX_CAUSES:
                # Count by the last term, because the number of last terms is at most the number of
                # terms.
                causes = (RejectionCause(causes[0].terms[-1:]),)
            totals = self._by_causes.setdefault(causes, _CauseTotals())
        totals.hosts += evaluation.hosts
        totals.aside += evaluation.aside
        for rejection in evaluation.rejections:
            if rejection.sharing and rejection.cause in causes:
                uuids = totals.sharing.setdefault(rejection.cause, set())
                uuids.update(evaluation.sharing.get(rejection.slot, ()))
        for measure in evaluation.measures:
            if measure.extreme is not None and measure.cause in causes:
                by_class = totals.extremes.setdefault(measure.cause, {})
                known = by_class.get(measure.name)
                manner = measure.cause.manner
                by_class[measure.name] = merge_extremes(self.code, manner, known, measure.extreme)

    @property
    def uuids(self) -> set[str]:
        """The UUIDs of the sharing providers whose names the text contains."""
        sets = [
            uuids
            for cause_hosts in self.by_causes()[:MAX_TEXT_CAUSES]
            for uuids in cause_hosts.sharing.values()
        ]
        return {uuid for uuids in sets for uuid in sorted(uuids)[:MAX_TERMS]}

    def by_causes(self, *, with_aside: bool = True) -> Sequence[CauseHosts]:
        """Return the hosts by their causes. Causes with the most hosts come first.

        Args:
            with_aside: Whether to include hosts that the text mentions separately.
        """
        by_causes = [
            CauseHosts(causes, hosts, totals.extremes, totals.sharing)
            for causes, totals in self._by_causes.items()
            if (hosts := totals.hosts if with_aside else totals.hosts - totals.aside)
        ]
        return sorted(by_causes, key=lambda cause_hosts: -cause_hosts.hosts)


def rejected_alone(evaluation: Evaluation, pool: Pool) -> RejectedHosts:
    """Return a single host with the rejections of an evaluation."""
    alone = Evaluation(
        evaluation.rejections, hosts=1, measures=list(measures(evaluation.rejections))
    )
    measure_host(alone, pool)
    rejected = RejectedHosts(evaluation.rejections[0].code)
    rejected.add(alone)
    return rejected


def measure_host(evaluation: Evaluation, pool: Pool) -> None:
    """Add a host to the measures of its evaluation.  PERF: this is called for each host."""
    members = pool.members
    for measure in evaluation.measures:
        measure.add(members)
    for rejection in evaluation.rejections:
        if rejection.sharing:
            uuids = evaluation.sharing.setdefault(rejection.slot, set())
            if len(uuids) < MAX_SHARING:
                uuids.update([members[position].uuid for position in rejection.sharing])
