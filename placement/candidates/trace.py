"""Why nothing came of a tree or of a placement: stable codes, counted.

The search writes a trace and never reads it, so that whatever explains an answer cannot change it.
"""

from collections import Counter
from collections.abc import Mapping
from enum import StrEnum


class Refusal(StrEnum):
    """A reason, by its stable code; in the order in which conditions are looked at."""

    # the request as a whole
    UNKNOWN_AGGREGATE = "unknown_aggregate"
    UNKNOWN_TREE = "unknown_tree"
    # the root of a tree
    ROOT_TRAIT_MISSING = "root_trait_missing"
    ROOT_TRAIT_FORBIDDEN = "root_trait_forbidden"
    ROOT_AGGREGATE = "root_aggregate"
    # each provider of a tree, for one group
    NO_INVENTORY = "no_inventory"
    MIN_UNIT = "min_unit"
    MAX_UNIT = "max_unit"
    STEP_SIZE = "step_size"
    CAPACITY = "capacity"
    TRAIT_MISSING = "trait_missing"
    TRAIT_FORBIDDEN = "trait_forbidden"
    NOT_IN_AGGREGATE = "not_in_aggregate"
    IN_FORBIDDEN_AGGREGATE = "in_forbidden_aggregate"
    IN_TREE = "in_tree"
    SUBTREE = "subtree"
    # several groups together
    COLLECTIVE_TRAITS = "collective_traits"
    ONE_PER_TREE = "one_per_tree"
    ISOLATE = "isolate"
    CAPACITY_SUM = "capacity_sum"
    SAME_SUBTREE = "same_subtree"
    # the search itself
    ELSEWHERE = "elsewhere"
    FILTERED = "filtered"


# Those after which no provider is left that has the room.
WITHOUT_CAPACITY = frozenset(
    {
        Refusal.NO_INVENTORY,
        Refusal.MIN_UNIT,
        Refusal.MAX_UNIT,
        Refusal.STEP_SIZE,
        Refusal.CAPACITY,
    }
)

MEANINGS: Mapping[Refusal, str] = {
    Refusal.UNKNOWN_AGGREGATE: "no aggregate of member_of or root_member_of exists",
    Refusal.UNKNOWN_TREE: "the provider of in_tree or subtree does not exist",
    Refusal.ROOT_TRAIT_MISSING: "the root lacks a required trait",
    Refusal.ROOT_TRAIT_FORBIDDEN: "the root has a forbidden trait",
    Refusal.ROOT_AGGREGATE: "the root is in the wrong aggregates",
    Refusal.NO_INVENTORY: "no provider has inventory of every class",
    Refusal.MIN_UNIT: "the amount is below min_unit",
    Refusal.MAX_UNIT: "the amount is above max_unit",
    Refusal.STEP_SIZE: "the amount is no multiple of step_size",
    Refusal.CAPACITY: "no provider has that much left",
    Refusal.TRAIT_MISSING: "no provider with room has the required traits",
    Refusal.TRAIT_FORBIDDEN: "every provider with room has a forbidden trait",
    Refusal.NOT_IN_AGGREGATE: "no provider with room is in the aggregates",
    Refusal.IN_FORBIDDEN_AGGREGATE: "every provider with room is in a forbidden aggregate",
    Refusal.IN_TREE: "no provider with room is in the tree",
    Refusal.SUBTREE: "no provider with room is in the subtree",
    Refusal.COLLECTIVE_TRAITS: "no combination has all required traits",
    Refusal.ONE_PER_TREE: "several providers of one tree, which the request does not combine",
    Refusal.ISOLATE: "groups must use different providers",
    Refusal.CAPACITY_SUM: "the sum of the groups does not fit",
    Refusal.SAME_SUBTREE: "groups must be in one subtree",
    Refusal.ELSEWHERE: "only sharing providers of other trees could serve",
    Refusal.FILTERED: "left out by the database",
}


class Trace:
    """What one search refused.

    requests and trees count (code, suffix of the group; empty where no single group is to
    blame). placements counts codes: one for each provider that was tried for a group in vain.
    filtered: trees that the database offered when it was asked for matching ones only, for each
    time it was asked.
    """

    def __init__(self) -> None:
        self.requests: Counter[tuple[Refusal, str]] = Counter()
        self.trees: Counter[tuple[Refusal, str]] = Counter()
        self.placements: Counter[Refusal] = Counter()
        self.filtered: list[int] = []

    def refuse_request(self, code: Refusal, suffix: str) -> None:
        """Note a group that no tree whatsoever can serve."""
        self.requests[code, suffix] += 1

    def refuse_tree(self, root: str, code: Refusal, suffix: str = "") -> None:
        """Note a tree, by the UUID of its root, that has no candidate."""
        self.trees[code, suffix] += 1

    def refuse_placement(self, root: str, code: Refusal) -> None:
        """Note a provider of the tree that could not serve a group beside the others' providers."""
        self.placements[code] += 1

    def filter_trees(self, offered: int) -> None:
        """Note that the database was asked for matching trees only, and how many it offered."""
        self.filtered.append(offered)

    def summary(self) -> Mapping[str, object]:
        """Return the counts with their meanings, for a log line."""
        refused = self.requests + self.trees
        lines = {
            f"{MEANINGS[code]}{f' ({suffix})' if suffix else ''}": count
            for (code, suffix), count in refused.most_common()
        }
        lines |= {MEANINGS[code]: count for code, count in self.placements.most_common()}
        if self.filtered:
            lines[f"{MEANINGS[Refusal.FILTERED]}, all but"] = sum(self.filtered)
        return lines
