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


# Work is counted in looks at one provider for one group, some 0.1 µs each. A step, which is a
# provider tried for a group, or put to one of the constraints there, is so many of them.
LOOKS = 8


class BudgetSpentError(Exception):
    """The search has done all the work that it was given."""


@dataclass(slots=True)
class Trail:
    """What one request's search met. `refused` counts (reason, suffix); suffix may be empty.

    max_steps: the work that may be done, in steps.  steps: providers tried for a group.  looks:
    all work, in looks at a provider.  trees: anchors looked at; served: those with a candidate.
    lacking: how many anchors had nobody for a slot (by position) or for a term of traits, or a
    wrong ROOT.  barred: how many of these had room all the same.
    """

    max_steps: int
    steps: int = 0
    looks: int = 0
    trees: int = 0
    served: int = 0
    lacking: Counter[Hashable] = field(default_factory=Counter)
    barred: Counter[Hashable] = field(default_factory=Counter)
    exhausted: bool = False
    refused: Counter[tuple[str, str]] = field(default_factory=Counter)

    def step(self, constraints: int = 0) -> None:
        """Count one provider tried for one slot, and put to so many constraints.

        Raises BudgetSpentError beyond the budget.
        """
        self.steps += 1
        self.spend(LOOKS + LOOKS * constraints)

    def spend(self, looks: int) -> None:
        """Count work about to be done, or just done.  Raises BudgetSpentError."""
        self.looks += looks
        if self.looks > self.max_steps * LOOKS:
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
            "work": self.looks // LOOKS,
            "refused": {
                f"{reason}{f' ({suffix})' if suffix else ''}": count
                for (reason, suffix), count in self.refused.most_common()
            },
        }
