"""Answers that know no trees: all slots that a tree serves are served by one provider of it."""

from collections.abc import Iterable, Sequence
from typing import Self

from placement.candidates.budget import Spend
from placement.candidates.constraints.base import Constraint, Undo
from placement.candidates.model import OptionList, Pool
from placement.candidates.plan import SearchPlan
from placement.candidates.trace import Refusal


class OnePerTree(Constraint):
    """No two providers of one tree serve.

    tree_of: provider -> a number for its tree.
    """

    code = Refusal.ONE_PER_TREE

    def __init__(self, slots: Iterable[int], tree_of: Sequence[int]) -> None:
        self.slots = frozenset(slots)
        self._tree_of = tree_of
        self._placed: dict[int, list[int]] = {}  # tree -> its provider, once for each slot
        self._order: list[list[int]] = []

    @classmethod
    def applies(cls, plan: SearchPlan) -> bool:
        """Whether the answer knows no trees, and several slots could meet in one."""
        return not plan.request.nested and len(plan.slots) > 1

    @classmethod
    def build(
        cls, plan: SearchPlan, pool: Pool, options: Sequence[OptionList], spend: Spend
    ) -> Sequence[Self]:
        """Make one condition for all slots."""
        trees = [pool.tree(position).id for position in range(len(pool.members))]
        return (cls(range(len(plan.slots)), trees),)

    def add(self, slot: int, provider: int) -> Undo | None:
        """Let the provider be the one of its tree, unless another is."""
        placed = self._placed.setdefault(self._tree_of[provider], [])
        if placed and placed[-1] != provider:
            return None
        placed.append(provider)
        self._order.append(placed)
        return self._undo

    def _undo(self) -> None:
        self._order.pop().pop()
