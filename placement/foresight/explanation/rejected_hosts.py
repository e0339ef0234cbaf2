"""The hosts that are rejected at one step, with the extreme values of their inventories."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from placement.candidates.model import Pool
from placement.candidates.request import StatedTerm
from placement.foresight.explanation.causes import Extreme, Rejection, RejectionCause, measures
from placement.foresight.explanation.fit import Fit

MAX_EXAMPLES = 5
# Maximum number of sets of causes that are counted separately at one step.
MAX_CAUSES = 1000

# All causes of a rejection at one code.
Causes = tuple[RejectionCause, ...]


class Tally:
    """The hosts with one fit. Their number, and what the text states about them."""

    def __init__(self, fit: Fit, rejections: Sequence[Rejection]) -> None:
        """Count no hosts yet; `rejections` are those whose extremes are reported."""
        self.fit = fit
        # Number of hosts.
        self.hosts = 0
        # Whether another amount would make any of them serve the request.
        self.is_helped = False
        # UUIDs of some hosts.
        self.examples: list[str] = []
        # The extremes to collect from the inventories of the hosts.
        self.measures = list(measures(rejections))

    def measure(self, pool: Pool) -> None:
        """Add the values of a host. Units that its cards exclude do not count."""
        members = self.fit.available(pool)
        for measure in self.measures:
            measure.add(members, pool.local)


@dataclass(slots=True)
class CauseHosts:
    """Hosts that are rejected at one code for the same causes."""

    # The causes, in the order of the slots.
    causes: Causes
    # Number of hosts.
    hosts: int = 0
    # Whether another amount would make any of them serve the request.
    is_helped: bool = False
    # The amounts for which none of the hosts has room, as in `Rejection.others`.
    others: list[StatedTerm] | None = None
    # Cause -> class -> the largest or smallest value in their inventories.
    extremes: dict[RejectionCause, dict[str, Extreme]] = field(default_factory=dict)


class RejectedHosts:
    """The hosts that are rejected at one step."""

    def __init__(self) -> None:
        # Number of hosts.
        self.hosts = 0
        # UUIDs of some hosts.
        self.examples: list[str] = []
        # Causes -> the hosts. Each host is counted once.
        self._by_causes: dict[Causes, CauseHosts] = {}

    @classmethod
    def of_host(cls, fit: Fit, pool: Pool, rejections: Sequence[Rejection]) -> "RejectedHosts":
        """Return a single host with some of its rejections."""
        tally, rejected = Tally(fit, rejections), cls()
        tally.hosts = 1
        tally.measure(pool)
        rejected.add(tally, rejections)
        return rejected

    def add(self, tally: Tally, rejections: Sequence[Rejection]) -> None:
        """Add the hosts of a tally with some of its rejections."""
        self.hosts += tally.hosts
        self.examples += tally.examples[: MAX_EXAMPLES - len(self.examples)]
        # Slots with equal requests have the same cause.
        causes = tuple(dict.fromkeys(rejection.cause for rejection in rejections))
        if causes not in self._by_causes and len(self._by_causes) >= MAX_CAUSES:
            # Count by the last term, because the number of last terms is at most the number of
            # terms.
            causes = (RejectionCause(causes[0].terms[-1:]),)
        totals = self._by_causes.setdefault(causes, CauseHosts(causes))
        totals.hosts += tally.hosts
        totals.is_helped |= tally.is_helped
        known = rejections[0].others if totals.others is None else totals.others
        totals.others = [each for each in known if each in rejections[0].others]
        for measure in tally.measures:
            if measure.extreme is not None and measure.cause in causes:
                by_class = totals.extremes.setdefault(measure.cause, {})
                by_class[measure.name] = measure.figure.merge(
                    by_class.get(measure.name), measure.extreme
                )

    def by_causes(self) -> Sequence[CauseHosts]:
        """Return the hosts by their causes. Causes with the most hosts come first."""
        return sorted(self._by_causes.values(), key=lambda each: -each.hosts)

    @property
    def uuids(self) -> set[str]:
        """The UUIDs of the sharing providers that the text may name."""
        by_class = [each for hosts in self._by_causes.values() for each in hosts.extremes.values()]
        return {extreme.pool for each in by_class for extreme in each.values()} - {""}
