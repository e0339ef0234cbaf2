"""The hosts that are rejected at one step, with the extreme values of their inventories."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from placement.candidates.explanation.causes import (
    Extreme,
    Rejection,
    RejectionCause,
    SharingFault,
    SpecialCase,
)
from placement.candidates.explanation.evaluation import Evaluation
from placement.candidates.explanation.extremes import fault, measures
from placement.candidates.explanation.words.phrases import MAX_TERMS
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


@dataclass(slots=True)
class CauseHosts:
    """Hosts that are rejected at one code for the same causes."""

    # The causes, in the order of the slots.
    causes: Causes
    # Number of hosts.
    hosts: int = 0
    # Number of these hosts that the text mentions apart from other hosts.
    mentioned_apart: int = 0
    # Number of the hosts that also have a taint, without those mentioned apart.
    tainted: int = 0
    # Cause -> class -> the largest or smallest value in their inventories.
    extremes: dict[RejectionCause, dict[str, Extreme]] = field(default_factory=dict)
    # Cause -> UUIDs of the sharing providers that the text names -> their faults.
    sharing: dict[RejectionCause, dict[str, SharingFault | None]] = field(default_factory=dict)
    # The traits that all providers have for which a group is missing in a rule, or None if
    # there are no such providers.
    parent_traits: frozenset[str] | None = None


@dataclass(slots=True)
class RejectedHosts:
    """The hosts that are rejected at one step."""

    # The code of the step.
    code: Refusal
    # Number of hosts.
    hosts: int = 0
    # UUIDs of some hosts.
    examples: list[str] = field(default_factory=list)
    # Causes -> their hosts. Each host is counted once.
    _by_causes: dict[Causes, CauseHosts] = field(default_factory=dict)

    def add(self, evaluation: Evaluation, rejections: Sequence[Rejection]) -> None:
        """Add the hosts of an evaluation with some of its rejections."""
        self.hosts += evaluation.hosts
        self.examples += evaluation.examples[: MAX_EXAMPLES - len(self.examples)]
        causes: Causes = (rejections[0].cause,)
        if len(rejections) > 1:
            # Slots with equal requests have the same cause.
            causes = tuple(dict.fromkeys(rejection.cause for rejection in rejections))
        totals = self._by_causes.get(causes)
        if totals is None:
            if len(self._by_causes) >= MAX_CAUSES:
                # Count by the last term, because the number of last terms is at most the number of
                # terms.
                causes = (RejectionCause(causes[0].terms[-1:]),)
            totals = self._by_causes.setdefault(causes, CauseHosts(causes))
        totals.hosts += evaluation.hosts
        totals.mentioned_apart += evaluation.mentioned_apart
        is_tainted = evaluation.rejections[0].code is Refusal.TAINTED
        if is_tainted and rejections is evaluation.instead:
            totals.tainted += evaluation.hosts - evaluation.mentioned_apart
        totals.parent_traits = common_traits(totals.parent_traits, evaluation.parent_traits)
        for cause, faults in evaluation.sharing.items():
            if cause in causes:
                totals.sharing.setdefault(cause, {}).update(faults)
        for measure in evaluation.measures:
            if measure.extreme is not None and measure.cause in causes:
                by_class = totals.extremes.setdefault(measure.cause, {})
                by_class[measure.name] = measure.merged(by_class.get(measure.name))

    @property
    def uuids(self) -> set[str]:
        """The UUIDs of the sharing providers whose names the text contains."""
        sets = [
            uuids
            for cause_hosts in self.by_causes()[:MAX_TEXT_CAUSES]
            for uuids in cause_hosts.sharing.values()
        ]
        return {uuid for uuids in sets for uuid in sorted(uuids)[:MAX_TERMS]}

    def by_causes(self, *, apart: bool = True) -> Sequence[CauseHosts]:
        """Return the hosts by their causes. Causes with the most hosts come first.

        Args:
            apart: Whether to include hosts that the text mentions apart from other hosts.
        """
        by_causes = list(self._by_causes.values())
        if not apart:
            by_causes = [
                replace(each, hosts=each.hosts - each.mentioned_apart) for each in by_causes
            ]
        return sorted([each for each in by_causes if each.hosts], key=lambda each: -each.hosts)


def rejected_alone(evaluation: Evaluation, pool: Pool) -> RejectedHosts:
    """Return a single host with the rejections of an evaluation."""
    alone = Evaluation(evaluation.stated, hosts=1)
    alone.measures = list(measures(alone.rejections))
    measure_host(alone, pool)
    rejected = RejectedHosts(alone.rejections[0].code)
    rejected.add(alone, alone.rejections)
    return rejected


def measure_host(evaluation: Evaluation, pool: Pool) -> None:
    """Add a host to the measures of its evaluation.  PERF: this is called for each host."""
    members = pool.members
    for measure in evaluation.measures:
        measure.add(members)
    for rejection in evaluation.all_rejections:
        if rejection.cause.case is SpecialCase.SIBLINGS:
            traits = [members[position].traits for position in rejection.at_code]
            evaluation.parent_traits = common_traits(
                evaluation.parent_traits, traits[0].intersection(*traits)
            )
        if rejection.sharing:
            faults = evaluation.sharing.setdefault(rejection.cause, {})
            if len(faults) < MAX_SHARING:
                for position, term in rejection.sharing:
                    faults[members[position].uuid] = fault(term, members[position])


def common_traits(
    known: frozenset[str] | None, traits: frozenset[str] | None
) -> frozenset[str] | None:
    """Return the common traits of two sets of hosts; None means no hosts."""
    return known if traits is None else traits if known is None else known & traits
