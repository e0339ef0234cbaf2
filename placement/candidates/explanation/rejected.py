"""The hosts that fell out at one step, with what their inventories and sharing providers have."""

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
class _Caused:
    """The hosts of a step that the same causes left out."""

    hosts: int = 0
    # Number of them that the text mentions in another place.
    aside: int = 0
    extremes: dict[FallCause, dict[str, Extreme]] = field(default_factory=dict)
    sharing: dict[FallCause, set[str]] = field(default_factory=dict)


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
    # Causes -> the hosts that they left out; each host counts once.
    _by_causes: dict[Causes, _Caused] = field(default_factory=dict)

    def add(self, verdict: Verdict) -> None:
        """Add the hosts of a verdict."""
        self.hosts += verdict.hosts
        self.aside += verdict.aside
        self.examples += verdict.examples[: MAX_EXAMPLES - len(self.examples)]
        self.pools += verdict.pools[: MAX_EXAMPLES - len(self.pools)]
        causes: Causes = (verdict.falls[0].cause,)
        if len(verdict.falls) > 1:
            # Slots that ask the same have one cause.
            causes = tuple(dict.fromkeys(fall.cause for fall in verdict.falls))
        caused = self._by_causes.get(causes)
        if caused is None:
            if len(self._by_causes) >= MAX_CAUSES:
                # There are no more of these than terms.
                causes = (FallCause(causes[0].terms[-1:]),)
            caused = self._by_causes.setdefault(causes, _Caused())
        caused.hosts += verdict.hosts
        caused.aside += verdict.aside
        for fall in verdict.falls:
            if fall.sharing and fall.cause in causes:
                uuids = caused.sharing.setdefault(fall.cause, set())
                uuids.update(verdict.sharing.get(fall.slot, ()))
        for measure in verdict.measures:
            if measure.extreme is not None and measure.cause in causes:
                by_class = caused.extremes.setdefault(measure.cause, {})
                known = by_class.get(measure.name)
                manner = measure.cause.manner
                by_class[measure.name] = wider_at(self.code, manner, known, measure.extreme)

    @property
    def uuids(self) -> set[str]:
        """The UUIDs of the sharing providers to call by their names."""
        sets = [uuids for loss in self.losses()[:MAX_LOSSES] for uuids in loss.sharing.values()]
        return {uuid for uuids in sets for uuid in sorted(uuids)[:MAX_TERMS]}

    def losses(self, *, with_aside: bool = True) -> Sequence[Loss]:
        """Return causes with their hosts, most hosts first.

        with_aside: also hosts that the text mentions in another place.
        """
        losses = [
            Loss(causes, hosts, caused.extremes, caused.sharing)
            for causes, caused in self._by_causes.items()
            if (hosts := caused.hosts if with_aside else caused.hosts - caused.aside)
        ]
        return sorted(losses, key=lambda loss: -loss.hosts)


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
