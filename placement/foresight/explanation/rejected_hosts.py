"""The hosts that are rejected at one step, with the extreme values of their inventories."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import chain

from placement.candidates.model import Pool
from placement.foresight.explanation.causes import (
    Extreme,
    Rejection,
    RejectionCause,
    SharingFault,
    SpecialCase,
    fault,
    measures,
)
from placement.foresight.explanation.fit import Fit
from placement.foresight.explanation.words.phrases import MAX_TERMS

MAX_EXAMPLES = 5
# Maximum number of sets of causes that are counted separately at one step.
MAX_CAUSES = 1000
# Maximum number of sets of causes in the text of one step.
MAX_TEXT_CAUSES = 10
# Maximum number of UUIDs of sharing providers for each slot of a fit.
MAX_SHARING = 100

# All causes of a rejection at one code.
Causes = tuple[RejectionCause, ...]


class Tally:
    """The hosts with one fit. Their number, and what the text states about them."""

    def __init__(self, fit: Fit) -> None:
        self.fit = fit
        # Number of hosts.
        self.hosts = 0
        # Number of these hosts that the text mentions apart from other hosts.
        self.mentioned_apart = 0
        # UUIDs of some hosts.
        self.examples: list[str] = []
        # The rejections of the response and of the text.
        self._rejections = [*fit.rejections, *fit.instead]
        # The extremes to collect from the inventories of the hosts.
        self.measures = list(measures(self._rejections))
        # Cause -> UUIDs of the sharing providers that the text names, with their faults.
        self.sharing: dict[RejectionCause, dict[str, SharingFault | None]] = {}
        # The traits of the providers for which a group is missing in a rule, on all hosts, or None
        # if there are no such providers.
        self.parent_traits: frozenset[str] | None = None

    @property
    def stated(self) -> Sequence[Rejection]:
        """The rejections that the text states."""
        return self.fit.instead or self.fit.rejections

    def measure(self, pool: Pool) -> None:
        """Add the values of a host. Units that its cards exclude do not count."""
        members = self.fit.available(pool)
        for measure in self.measures:
            measure.add(members)
        for rejection in self._rejections:
            if rejection.cause.case is SpecialCase.SIBLINGS:
                traits = [members[position].traits for position in rejection.at_code]
                self.parent_traits = _common(self.parent_traits, traits[0].intersection(*traits))
            if rejection.sharing:
                faults = self.sharing.setdefault(rejection.cause, {})
                if len(faults) < MAX_SHARING:
                    for position, terms in rejection.sharing:
                        faults[members[position].uuid] = fault(terms, members[position])


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
    # The causes that the text states for these hosts in place of the others, or empty if it states
    # the others. They belong to the code of their terms.
    stated: Causes = ()


class RejectedHosts:
    """The hosts that are rejected at one step."""

    def __init__(self) -> None:
        # Number of hosts.
        self.hosts = 0
        # UUIDs of some hosts.
        self.examples: list[str] = []
        # Causes, and those stated in their place -> the hosts. Each host is counted once.
        self._by_causes: dict[tuple[Causes, Causes], CauseHosts] = {}

    @classmethod
    def of_host(cls, fit: Fit, pool: Pool) -> "RejectedHosts":
        """Return a single host with the rejections that a text states."""
        tally, rejected = Tally(fit), cls()
        tally.hosts = 1
        tally.measure(pool)
        rejected.add(tally, tally.stated)
        return rejected

    def add(self, tally: Tally, rejections: Sequence[Rejection]) -> None:
        """Add the hosts of a tally with some of its rejections."""
        self.hosts += tally.hosts
        self.examples += tally.examples[: MAX_EXAMPLES - len(self.examples)]
        causes = _causes_of(rejections)
        # Hosts whose text states another reason are counted apart, so that the list and the text
        # report the extremes of the same hosts.
        is_other = rejections is not tally.stated and not tally.fit.is_tainted
        stated = _causes_of(tally.stated) if is_other else ()
        totals = self._by_causes.get((causes, stated))
        if totals is None:
            if len(self._by_causes) >= MAX_CAUSES:
                # Count by the last term, because the number of last terms is at most the number of
                # terms.
                causes, stated = (RejectionCause(causes[0].terms[-1:]),), ()
            totals = self._by_causes.setdefault((causes, stated), CauseHosts(causes, stated=stated))
        totals.hosts += tally.hosts
        totals.mentioned_apart += tally.mentioned_apart
        if tally.fit.is_tainted and rejections is not tally.fit.rejections:
            totals.tainted += tally.hosts - tally.mentioned_apart
        totals.parent_traits = _common(totals.parent_traits, tally.parent_traits)
        for cause, faults in tally.sharing.items():
            if cause in causes or cause in stated:
                totals.sharing.setdefault(cause, {}).update(faults)
        for measure in tally.measures:
            if measure.extreme is not None and measure.cause in causes:
                by_class = totals.extremes.setdefault(measure.cause, {})
                by_class[measure.name] = measure.merged(by_class.get(measure.name))

    @property
    def uuids(self) -> set[str]:
        """The UUIDs of the sharing providers whose names the text contains."""
        sharing = [cause_hosts.sharing.values() for cause_hosts in self.by_causes()]
        named = chain.from_iterable(sharing[:MAX_TEXT_CAUSES])
        return {uuid for uuids in named for uuid in sorted(uuids)[:MAX_TERMS]}

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


def _causes_of(rejections: Sequence[Rejection]) -> Causes:
    """Return the causes of rejections. Slots with equal requests have the same cause."""
    return tuple(dict.fromkeys(rejection.cause for rejection in rejections))


def _common(known: frozenset[str] | None, traits: frozenset[str] | None) -> frozenset[str] | None:
    """Return the common traits of two sets of hosts; None means no hosts."""
    return known if traits is None else traits if known is None else known & traits
