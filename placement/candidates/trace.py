"""Why nothing came of a tree or of a placement: stable codes, counted.

The search writes a trace and never reads it, so that whatever explains an answer cannot change it.
"""

from collections import Counter
from collections.abc import Mapping
from enum import StrEnum


class Refusal(StrEnum):
    """A reason: its stable code, and what it means.

    They stand in the order in which conditions are looked at.
    """

    meaning: str

    def __new__(cls, code: str, meaning: str) -> "Refusal":
        """Make the member of a code and its meaning."""
        member = str.__new__(cls, code)
        member._value_ = code
        member.meaning = meaning
        return member

    # the request as a whole
    UNKNOWN_AGGREGATE = "unknown_aggregate", "no aggregate of member_of or root_member_of exists"
    UNKNOWN_TREE = "unknown_tree", "the provider of in_tree or subtree does not exist"
    # the root of a tree
    ROOT_TRAIT_MISSING = "root_trait_missing", "the root lacks a required trait"
    ROOT_TRAIT_FORBIDDEN = "root_trait_forbidden", "the root has a forbidden trait"
    ROOT_AGGREGATE = "root_aggregate", "the root is in the wrong aggregates"
    # each provider of a tree, for one group
    NO_INVENTORY = "no_inventory", "no provider has inventory of every class"
    MIN_UNIT = "min_unit", "the amount is below min_unit"
    MAX_UNIT = "max_unit", "the amount is above max_unit"
    STEP_SIZE = "step_size", "the amount is no multiple of step_size"
    CAPACITY = "capacity", "no provider has that much left"
    TRAIT_MISSING = "trait_missing", "no provider with room has the required traits"
    TRAIT_FORBIDDEN = "trait_forbidden", "every provider with room has a forbidden trait"
    NOT_IN_AGGREGATE = "not_in_aggregate", "no provider with room is in the aggregates"
    IN_FORBIDDEN_AGGREGATE = (
        "in_forbidden_aggregate",
        "every provider with room is in a forbidden aggregate",
    )
    IN_TREE = "in_tree", "no provider with room is in the tree"
    SUBTREE = "subtree", "no provider with room is in the subtree"
    # several groups together
    COLLECTIVE_TRAITS = "collective_traits", "no combination has all required traits"
    CAPACITY_SUM = "capacity_sum", "the sum of the groups does not fit"
    ONE_PER_TREE = (
        "one_per_tree",
        "several providers of one tree, which the request does not combine",
    )
    ISOLATE = "isolate", "groups must use different providers"
    SAME_SUBTREE = "same_subtree", "groups must be in one subtree"
    # the search itself
    BUDGET = "budget", "the search ended before it could tell"
    ELSEWHERE = "elsewhere", "only sharing providers of other trees could serve"
    FILTERED = "filtered", "left out by the database"


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

    def __str__(self) -> str:
        """Return the summary, made when a log line is written."""
        return str(self.summary())

    def summary(self) -> Mapping[str, object]:
        """Return the counts with their meanings, for a log line."""
        refused = self.requests + self.trees
        lines = {
            f"{code.meaning}{f' ({suffix})' if suffix else ''}": count
            for (code, suffix), count in refused.most_common()
        }
        lines |= {code.meaning: count for code, count in self.placements.most_common()}
        if self.filtered:
            lines[f"{Refusal.FILTERED.meaning}, all but"] = sum(self.filtered)
        return lines
