"""The hosts that fell out at one step, with what their inventories and sharing providers have."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from placement.candidates.explanation.extremes import measures, wider_at
from placement.candidates.explanation.nouns import MAX_TERMS
from placement.candidates.explanation.profiles import Extreme, FallCause, Verdict
from placement.candidates.model import Pool
from placement.candidates.trace import Refusal

MAX_EXAMPLES = 5
MAX_CAUSES = 1000  # sets of causes that one step distinguishes
MAX_LOSSES = 10  # that the words of one step distinguish
MAX_SHARING = 100  # UUIDs of sharing providers, for each slot of a verdict

# All that left a host out at one code.
Causes = tuple[FallCause, ...]


class Loss(NamedTuple):
    """Hosts that the same causes left out at one code."""

    causes: Causes
    hosts: int
    # Cause -> class -> the figure of their inventories.
    extremes: Mapping[FallCause, Mapping[str, Extreme]]
    # Cause -> UUIDs of the sharing providers that alone have room.
    sharing: Mapping[FallCause, Collection[str]]


@dataclass(slots=True)
class RejectedHosts:
    """The hosts that fell out at one step."""

    code: Refusal
    hosts: int = 0
    # Number of them that the text mentions in another place.
    aside: int = 0
    # UUIDs of some hosts, and of some that only share their inventories.
    examples: list[str] = field(default_factory=list)
    pools: list[str] = field(default_factory=list)
    # Causes -> hosts. Each host counts once.
    causes: Counter[Causes] = field(default_factory=Counter)
    # The same without hosts that the text mentions in another place.
    plain: Counter[Causes] = field(default_factory=Counter)
    # Causes -> cause -> class -> the figure of their inventories.
    extremes: dict[Causes, dict[FallCause, dict[str, Extreme]]] = field(default_factory=dict)
    # Causes -> cause -> UUIDs of the sharing providers that alone have room.
    sharing: dict[Causes, dict[FallCause, set[str]]] = field(default_factory=dict)

    def add(self, verdict: Verdict) -> None:
        """Add the hosts of a verdict."""
        self.hosts += verdict.hosts
        self.aside += verdict.aside
        self.examples += verdict.examples[: MAX_EXAMPLES - len(self.examples)]
        self.pools += verdict.pools[: MAX_EXAMPLES - len(self.pools)]
        # Slots that ask the same have one cause.
        causes = tuple(dict.fromkeys(fall.cause for fall in verdict.falls))
        if causes not in self.causes and len(self.causes) >= MAX_CAUSES:
            # There are no more of these than terms.
            causes = (FallCause(causes[0].terms[-1:]),)
        self.causes[causes] += verdict.hosts
        self.plain[causes] += verdict.hosts - verdict.aside
        self._add_sharing(causes, verdict)
        self._add_extremes(causes, verdict)

    def _add_sharing(self, causes: Causes, verdict: Verdict) -> None:
        for fall in verdict.falls:
            if fall.sharing and fall.cause in causes:
                by_cause = self.sharing.setdefault(causes, {})
                by_cause.setdefault(fall.cause, set()).update(verdict.sharing.get(fall.slot, ()))

    def _add_extremes(self, causes: Causes, verdict: Verdict) -> None:
        by_cause = self.extremes.setdefault(causes, {})
        for measure in verdict.measures:
            if measure.extreme is not None and measure.cause in causes:
                by_class = by_cause.setdefault(measure.cause, {})
                known = by_class.get(measure.name)
                by_class[measure.name] = wider_at(
                    self.code, measure.cause.manner, known, measure.extreme
                )

    @property
    def uuids(self) -> set[str]:
        """The UUIDs of the sharing providers to call by their names."""
        most = [
            self.sharing.get(causes, {}) for causes, _hosts in self.causes.most_common(MAX_LOSSES)
        ]
        sets = [uuids for by_cause in most for uuids in by_cause.values()]
        return {uuid for uuids in sets for uuid in sorted(uuids)[:MAX_TERMS]}

    def losses(self, counts: Counter[Causes]) -> Sequence[Loss]:
        """Return causes with their hosts, most hosts first; counts: `causes` or `plain`."""
        return [
            Loss(causes, hosts, self.extremes.get(causes, {}), self.sharing.get(causes, {}))
            for causes, hosts in counts.most_common()
            if hosts
        ]


def rejected_alone(verdict: Verdict, pool: Pool) -> RejectedHosts:
    """Return a single host that falls out as a verdict says."""
    alone = Verdict(verdict.falls, hosts=1, measures=list(measures(verdict.falls)))
    note(alone, pool)
    rejected = RejectedHosts(verdict.falls[0].code)
    rejected.add(alone)
    return rejected


def note(verdict: Verdict, pool: Pool) -> None:
    """Note what a host has of what it failed.  PERF: this is called for each host."""
    members = pool.members
    for measure in verdict.measures:
        measure.note(members)
    for fall in verdict.falls:
        if fall.sharing:
            uuids = verdict.sharing.setdefault(fall.slot, set())
            if len(uuids) < MAX_SHARING:
                uuids.update([members[position].uuid for position in fall.sharing])
