"""Stable codes for the reasons why hosts are rejected."""

from enum import StrEnum


class Refusal(StrEnum):
    """A stable code for the rejection of a host.

    The codes are in the order in which conditions are evaluated. `explanation.words` contains the
    sentence of each code.
    """

    # A clause that describes each host that is rejected at the code. Responses, commands and
    # documents use this text.
    meaning: str

    def __new__(cls, code: str, meaning: str) -> "Refusal":
        """Create the member of a code."""
        member = str.__new__(cls, code)
        member._value_ = code
        member.meaning = meaning
        return member

    # the request as a whole
    UNKNOWN_AGGREGATE = "unknown_aggregate", "no aggregate of member_of or root_member_of exists"
    UNKNOWN_TREE = "unknown_tree", "the provider of in_tree or subtree does not exist"
    # the root of a tree
    TAINTED = "tainted", "the root has a taint that the request does not tolerate"
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
    COLLECTIVE_TRAITS = "collective_traits", "no combination of providers has all required traits"
    CAPACITY_SUM = "capacity_sum", "not enough room for all amounts together"
    ONE_PER_TREE = (
        "one_per_tree",
        "several providers of one tree, which the request does not combine",
    )
    ISOLATE = "isolate", "too few providers to keep groups apart"
    SAME_SUBTREE = "same_subtree", "no subtree serves these groups together"
    SPREAD = "spread", "the host has as many members of the spread group as one host may have"
    EXCLUSIVE = (
        "exclusive",
        "a device serves in one way at a time: it already serves in another, or two were requested",
    )
    # the search itself
    BUDGET = "budget", "not decided: the limit on work was reached"
    ELSEWHERE = "elsewhere", "only sharing providers of other trees could serve"
    FILTERED = "filtered", "left out by the database"
