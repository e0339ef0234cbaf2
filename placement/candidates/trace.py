"""Stable codes for the reasons why the search rejects trees and providers, and their counts.

The search writes to a trace but never reads from it. Therefore, an explanation cannot change a
result.
"""

from collections import Counter
from collections.abc import Mapping
from enum import StrEnum
from typing import Any, NamedTuple


class Form(NamedTuple):
    """A text with fields in braces, which `explanation.wording` fills in."""

    # The text. The field `items` contains the list of terms or sums.
    frame: str
    # The text of each item.
    item: str = "{value}"
    # The separator before the last item.
    between: str = " or "


NO_FORM = Form("")


class Reason(NamedTuple):
    """The texts of one code. Responses, commands and documents use the same texts."""

    # A clause that describes each host that is rejected at the code.
    meaning: str
    # The detail of a rejection: the requirement, and the property of the providers.
    refused: Form = NO_FORM
    # The same text as a predicate of hosts, for the text of an explanation.
    lacking: Form = NO_FORM
    # What the request requires of several groups together; empty for other codes.
    asked: str = ""


class Refusal(StrEnum):
    """A stable code for the rejection of a host, with its texts.

    The codes are in the order in which conditions are evaluated.
    """

    # The texts of the code.
    reason: Reason

    def __new__(cls, code: str, *words: Any) -> "Refusal":
        """Create the member of a code. `words` contains the fields of its reason."""
        member = str.__new__(cls, code)
        member._value_ = code
        member.reason = Reason(*words)
        return member

    @property
    def meaning(self) -> str:
        """A clause that describes each host that is rejected at the code."""
        return self.reason.meaning

    # the request as a whole
    UNKNOWN_AGGREGATE = ("unknown_aggregate", "no aggregate of member_of or root_member_of exists")
    UNKNOWN_TREE = "unknown_tree", "the provider of in_tree or subtree does not exist"
    # the root of a tree
    TAINTED = (
        "tainted",
        "the root has a taint that the request does not tolerate",
        Form("{items}", between=", "),
        Form("{out_by} {items}", "the taint {value}", " and "),
    )
    ROOT_TRAIT_MISSING = (
        "root_trait_missing",
        "the root lacks a required trait",
        Form("a root without {items}", "{noun}"),
        Form("{have} a root without {items}", "{noun}"),
    )
    ROOT_TRAIT_FORBIDDEN = (
        "root_trait_forbidden",
        "the root has a forbidden trait",
        Form("a root with {items}", "the forbidden {noun}", " and "),
        Form("{have} a root with {items}", "the forbidden {noun}", " and "),
    )
    ROOT_AGGREGATE = (
        "root_aggregate",
        "the root is in the wrong aggregates",
        Form("a root {items}", "{within} {noun}", " and "),
        Form("{have} a root that is {items}", "{within} {noun}", " and "),
    )
    # each provider of a tree, for one group
    NO_INVENTORY = (
        "no_inventory",
        "no provider has inventory of every class",
        Form("no inventory of {items}", "{name}"),
        Form("{have} no inventory of {items}{group}", "{name}"),
    )
    MIN_UNIT = (
        "min_unit",
        "the amount is below min_unit",
        Form("{items}", "{value} asked, the smallest min_unit is {there}{advice}", ", and "),
        Form(
            "{have} no provider whose min_unit allows {items}{group}",
            "{value} (the smallest is {there}{advice})",
            " and none whose min_unit allows ",
        ),
    )
    MAX_UNIT = (
        "max_unit",
        "the amount is above max_unit",
        Form("{items}", "{value} asked, the largest max_unit is {there}", ", and "),
        Form(
            "{have} no provider whose max_unit allows {items}{group}",
            "{value} ({largest})",
            " and none whose max_unit allows ",
        ),
    )
    STEP_SIZE = (
        "step_size",
        "the amount is no multiple of step_size",
        Form("{items}", "{value} asked, the smallest step_size is {there}{advice}", ", and "),
        Form(
            "{have} no provider whose step_size allows {items}{group}",
            "{value} (the smallest is {there}{advice})",
            " and none whose step_size allows ",
        ),
    )
    CAPACITY = (
        "capacity",
        "no provider has that much left",
        Form("{items}", "{value} asked, the most free is {there}", ", and "),
        Form(
            "{have} no provider with {items}{group}",
            "{value} free (the most is {there})",
            " and none with ",
        ),
    )
    TRAIT_MISSING = (
        "trait_missing",
        "no provider with room has the required traits",
        Form("no provider with {items}", "{noun}"),
        Form("{have} no provider with {items}{group}", "{noun}"),
    )
    TRAIT_FORBIDDEN = (
        "trait_forbidden",
        "every provider with room has a forbidden trait",
        Form("{only} with the forbidden {items}", "{noun}"),
        Form("{have} {only} with the forbidden {items}{group}", "{noun}"),
    )
    NOT_IN_AGGREGATE = (
        "not_in_aggregate",
        "no provider with room is in the aggregates",
        Form("not in {items}", "{noun}"),
        Form("{are} not in {items}{requires}", "{noun}"),
    )
    IN_FORBIDDEN_AGGREGATE = (
        "in_forbidden_aggregate",
        "every provider with room is in a forbidden aggregate",
        Form("{only} in the forbidden {items}", "{noun}"),
        Form("{have} {only} in the forbidden {items}{group}", "{noun}"),
    )
    IN_TREE = (
        "in_tree",
        "no provider with room is in the tree",
        Form("not in {items}", "{tree}"),
        Form("{are} not in {items}{requires}", "{tree}"),
    )
    SUBTREE = (
        "subtree",
        "no provider with room is in the subtree",
        Form("not in the subtree of {items}", "{place}"),
        Form("{are} not in the subtree of {items}{requires}", "{place}"),
    )
    # several groups together
    COLLECTIVE_TRAITS = (
        "collective_traits",
        "no combination of providers has all required traits",
        Form("no combination of providers that fit and have {traits} between them"),
        Form("{have} no combination of providers that fit and have {traits} between them"),
        "{trait_names}",
    )
    CAPACITY_SUM = (
        "capacity_sum",
        "not enough room for all amounts together",
        Form(
            "room for each group, but not for {together} ({items})",
            "{value} asked, {most}{there} free{scattered}",
            " and ",
        ),
        Form(
            "{have} room for each group, but not for {together} ({items})",
            "{value} asked, {most}{there} free{scattered}",
            " and ",
        ),
        "{sums}",
    )
    ONE_PER_TREE = (
        "one_per_tree",
        "several providers of one tree, which the request does not combine",
        Form("one provider of each tree"),
        Form("would need several providers of one tree"),
        "one provider of each tree",
    )
    ISOLATE = (
        "isolate",
        "too few providers to keep groups apart",
        Form("{fitting} for {isolated}"),
        Form("{have} {fitting} for {isolated}"),
        "{suffixes}: providers that serve no other of the suffixed groups",
    )
    SAME_SUBTREE = (
        "same_subtree",
        "no subtree serves these groups together",
        Form("no subtree that serves {subtrees} together"),
        Form("{have} no subtree that serves {subtrees} together"),
        "{rules}",
    )
    SPREAD = (
        "spread",
        "the host has as many members of the spread group as one host may have",
        Form("as many members of the spread group as one host may have"),
        Form("{have} as many members of the spread group as one host may have"),
        "hosts with fewer members of the spread group",
    )
    # the search itself
    BUDGET = (
        "budget",
        "not decided: the limit on work was reached",
        Form("not decided within the limit on work"),
        Form("took too long to decide"),
        "not decided within the limit on work",
    )
    ELSEWHERE = "elsewhere", "only sharing providers of other trees could serve"
    FILTERED = "filtered", "left out by the database"


# Codes of amounts. If a host is rejected at one of these codes, no provider has enough capacity.
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
    """The rejections of one search."""

    def __init__(self) -> None:
        # (code, suffix of the group) -> number of groups that no tree can serve.
        self.requests: Counter[tuple[Refusal, str]] = Counter()
        # Root id -> revision, for the rejected trees. An explanation of an empty result evaluates
        # these trees.
        self.refused: dict[int, int] = {}
        # (code, suffix of the group, or empty if no single group is the cause) -> number of
        # trees that the search rejected at this check. The search does not look for the check that
        # rejects the last provider, so explanations do not use these codes.
        self.trees: Counter[tuple[Refusal, str]] = Counter()
        # Code -> number of providers that the search tried and rejected for a group.
        self.placements: Counter[Refusal] = Counter()
        # The number of trees that each filtering query to the database returned.
        self.filtered: list[int] = []

    def refuse_request(self, code: Refusal, suffix: str) -> None:
        """Count a group that no tree can serve."""
        self.requests[code, suffix] += 1

    def refuse_tree(self, code: Refusal, suffix: str = "") -> None:
        """Count a tree without a candidate, or sharing providers that cannot serve alone."""
        self.trees[code, suffix] += 1

    def refuse_placement(self, code: Refusal) -> None:
        """Count a provider that cannot serve a group with the providers of the other groups."""
        self.placements[code] += 1

    def filter_trees(self, offered: int) -> None:
        """Record the number of trees that a filtering query of the database returned."""
        self.filtered.append(offered)

    def __str__(self) -> str:
        """Return the summary. It is computed only when a log line is written."""
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
