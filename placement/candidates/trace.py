"""Why nothing came of a tree or of a placement: stable codes, counted.

The search writes a trace and never reads it, so that whatever explains an answer cannot change it.
"""

from collections import Counter
from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple


class Reason(NamedTuple):
    """The words for one code: the only table of them, for answers, commands and documents.

    `explanation.wording` fills in the fields in braces.
    """

    # A clause that is true of a host which the code leaves out.
    meaning: str
    # The detail of a reason: what was asked, and what the providers of a host have instead. Of a
    # code that joins groups: what is asked of them together.
    refused: str = ""
    # The same as the predicate of so many hosts, in the text of an explanation.
    lacking: str = ""


class Refusal(StrEnum):
    """A reason: its stable code, and the words for it.

    They stand in the order in which conditions are looked at.
    """

    reason: Reason

    def __new__(cls, code: str, meaning: str, refused: str = "", lacking: str = "") -> "Refusal":
        """Make the member of a code and its words, which are the fields of its reason."""
        member = str.__new__(cls, code)
        member._value_ = code
        member.reason = Reason(meaning, refused, lacking)
        return member

    @property
    def meaning(self) -> str:
        """A clause that is true of a host which the code leaves out."""
        return self.reason.meaning

    # the request as a whole
    UNKNOWN_AGGREGATE = ("unknown_aggregate", "no aggregate of member_of or root_member_of exists")
    UNKNOWN_TREE = "unknown_tree", "the provider of in_tree or subtree does not exist"
    # the root of a tree
    TAINTED = (
        "tainted",
        "the root has a taint that the request does not tolerate",
        "{value}",
        "{have} the taint {value}",
    )
    ROOT_TRAIT_MISSING = (
        "root_trait_missing",
        "the root lacks a required trait",
        "the root lacks {value}",
        "{have} a root without {noun}",
    )
    ROOT_TRAIT_FORBIDDEN = (
        "root_trait_forbidden",
        "the root has a forbidden trait",
        "the root has {value}",
        "{have} a root with {noun}",
    )
    ROOT_AGGREGATE = (
        "root_aggregate",
        "the root is in the wrong aggregates",
        "the root is {within} {value}",
        "{have} a root {within} {noun}",
    )
    # each provider of a tree, for one group
    NO_INVENTORY = (
        "no_inventory",
        "no provider has inventory of every class",
        "no inventory of {name}",
        "{have} no inventory of {name}{group}",
    )
    MIN_UNIT = (
        "min_unit",
        "the amount is below min_unit",
        "{value} asked, the least min_unit is {there}{advice}",
        "{have} no provider that gives as little as {value}{group} (the least is {there}{advice})",
    )
    MAX_UNIT = (
        "max_unit",
        "the amount is above max_unit",
        "{value} asked, the largest max_unit is {there}",
        "{have} no provider that gives {value} at once{group} (the most is {there})",
    )
    STEP_SIZE = (
        "step_size",
        "the amount is no multiple of step_size",
        "{value} asked, the least step_size is {there}{advice}",
        "{have} no provider that gives {value} in its steps{group} "
        "(the least step_size is {there}{advice})",
    )
    CAPACITY = (
        "capacity",
        "no provider has that much left",
        "{value} asked, the most free is {there}",
        "{have} no provider with {value} free{group} (the most is {there})",
    )
    TRAIT_MISSING = (
        "trait_missing",
        "no provider with room has the required traits",
        "{value} {missing}",
        "{have} no provider with room and {noun}{group}",
    )
    TRAIT_FORBIDDEN = (
        "trait_forbidden",
        "every provider with room has a forbidden trait",
        "{value} is forbidden",
        "{have} room only where {noun} is forbidden{group}",
    )
    NOT_IN_AGGREGATE = (
        "not_in_aggregate",
        "no provider with room is in the aggregates",
        "not in {value}",
        "{have} no provider with room in {noun}{group}",
    )
    IN_FORBIDDEN_AGGREGATE = (
        "in_forbidden_aggregate",
        "every provider with room is in a forbidden aggregate",
        "in {value}",
        "{have} room only in {noun}, which is forbidden{group}",
    )
    IN_TREE = (
        "in_tree",
        "no provider with room is in the tree",
        "not in the tree of {value}",
        "{have} no provider with room in the tree of {value}{group}",
    )
    SUBTREE = (
        "subtree",
        "no provider with room is in the subtree",
        "neither {value} nor below it",
        "{have} no provider with room that is {value} or below it{group}",
    )
    # several groups together
    COLLECTIVE_TRAITS = (
        "collective_traits",
        "no combination of providers has all required traits",
        "{traits}",
        "{have} no combination of providers with all required traits ({traits})",
    )
    CAPACITY_SUM = (
        "capacity_sum",
        "the sum of the groups does not fit",
        "{sums} for all groups together",
        "{have} room for each group, but not for all together ({sums})",
    )
    ONE_PER_TREE = (
        "one_per_tree",
        "several providers of one tree, which the request does not combine",
        "one provider of each tree",
        "would need several providers of one tree",
    )
    ISOLATE = (
        "isolate",
        "too few providers to keep groups apart",
        "{isolated}: providers that serve no other of the suffixed groups",
        "{have} too few providers for the isolated groups",
    )
    SAME_SUBTREE = (
        "same_subtree",
        "no subtree serves these groups together",
        "{subtrees}",
        "{have} no subtree as same_subtree asks",
    )
    # the search itself
    BUDGET = (
        "budget",
        "not decided: the bound on work was reached",
        "not decided within the bound on work",
        "took too long to decide",
    )
    ELSEWHERE = "elsewhere", "only sharing providers of other trees could serve"
    FILTERED = "filtered", "left out by the database"


# Groups whose sum does not fit, where something else than the room stands in the way.
SUMS_BY: Mapping[Refusal, Reason] = {
    Refusal.MAX_UNIT: Reason(
        Refusal.CAPACITY_SUM.meaning,
        "{sums} for all groups together, the largest max_unit is {there}",
        "{have} no provider whose max_unit allows the groups together "
        "({sums} asked, the largest max_unit is {there})",
    ),
    Refusal.ISOLATE: Reason(
        Refusal.CAPACITY_SUM.meaning,
        "{sums} for all groups together, and too few providers to keep {isolated} apart",
        "{have} too few providers for the isolated groups ({isolated})",
    ),
    # Where amounts may be served in parts.
    Refusal.CAPACITY: Reason(
        Refusal.CAPACITY_SUM.meaning,
        "{sums} for all groups together",
        "{have} too little room for all groups together, in parts or not ({sums})",
    ),
}

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
