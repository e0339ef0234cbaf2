"""Why things were refused, counted by fixed reasons, and how much work a search did."""

from collections import Counter
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field

NO_PROVIDER = "no provider of the tree can serve the group"
CAPACITY = "the sum of the groups does not fit"
ISOLATION = "groups must use different providers"
SUBTREE = "groups must be in one subtree"
ONE_PER_TREE = "several providers of one tree, which this microversion does not combine"
TRAITS = "no combination has all required traits"

ROOT = "root"  # of what an anchor lacks: its root is not as wanted


class BudgetSpentError(Exception):
    """The search has used all the steps it was given."""


@dataclass(slots=True)
class Trail:
    """What one request's search met. `refused` counts (reason, suffix); suffix may be empty.

    trees: anchors looked at; served: those with a candidate.  lacking: how many anchors had
    nobody for a slot (by position) or for a term of traits, or a wrong ROOT.  barred: how many of
    these had room all the same.
    """

    max_steps: int
    steps: int = 0
    trees: int = 0
    served: int = 0
    lacking: Counter[Hashable] = field(default_factory=Counter)
    barred: Counter[Hashable] = field(default_factory=Counter)
    exhausted: bool = False
    refused: Counter[tuple[str, str]] = field(default_factory=Counter)

    def step(self) -> None:
        """Count one provider tried for one slot.  Raises BudgetSpentError beyond the budget."""
        self.steps += 1
        if self.steps > self.max_steps:
            self.exhausted = True
            raise BudgetSpentError

    def refuse(self, reason: str, suffix: str = "") -> None:
        """Count one refusal."""
        self.refused[reason, suffix] += 1

    def summary(self) -> Mapping[str, object]:
        """The counts, for a log line."""
        return {
            "trees": self.trees,
            "steps": self.steps,
            "refused": {
                f"{reason}{f' ({suffix})' if suffix else ''}": count
                for (reason, suffix), count in self.refused.most_common()
            },
        }
