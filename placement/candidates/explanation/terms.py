"""The single conditions of a request, and what of a request they are."""

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from placement.candidates.request import RequestGroup, RootTerms, SubtreeRule
from placement.candidates.requirements import (
    STOCK_CONDITIONS,
    Condition,
    RootCondition,
    conditions,
    root_conditions,
)
from placement.candidates.trace import Refusal
from placement.objects import identifiers

# What a term states: (class, units), any of some names, one name, or a rule of `same_subtree`.
TermValue = tuple[str, int] | frozenset[str] | str | SubtreeRule

# What `fits` says, in the order in which it is looked at.
STOCK_CODES = (Refusal.NO_INVENTORY, *(code for code, _allows in STOCK_CONDITIONS))

# The suffix of a group whose provider itself has to be a member, whatever its root is.
_ITSELF = "itself"


class Term(NamedTuple):
    """A single condition of a request.

    keyword: the member of the JSON form that states it. suffix: its group; None for the root and
    for what joins groups. value: as the client stated it.
    """

    code: Refusal
    keyword: str
    suffix: str | None
    value: TermValue

    @property
    def resource_class(self) -> str:
        """The class whose amount it asks for; empty where it asks for something else."""
        if isinstance(self.value, tuple) and self.keyword == "resources":
            return str(self.value[0])
        return ""

    @property
    def amount(self) -> int | None:
        """The units of the class that it asks for; None where it asks for something else."""
        if isinstance(self.value, tuple) and isinstance(self.value[1], int):
            return self.value[1]
        return None


def group_terms(group: RequestGroup, stated: RequestGroup) -> Iterator[tuple[Term, Condition]]:
    """Yield what the group asks of a provider besides resources, one condition at a time.

    Each is a group that asks for nothing else, so that the search's own conditions judge. Of
    `member_of` it is asked whether the provider itself is a member. stated: the group with
    aggregates as the client wrote them.
    """
    for keyword, single, value in _single_groups(group, stated):
        ((code, condition),) = conditions(single, alone=True)
        yield Term(code, keyword, group.suffix, value), condition


def _single_groups(
    group: RequestGroup, stated: RequestGroup
) -> Iterator[tuple[str, RequestGroup, TermValue]]:
    bare, itself = RequestGroup(group.suffix), RequestGroup(_ITSELF)
    for names in group.required:
        yield "required", replace(bare, required=(names,)), names
    for name in sorted(group.forbidden):
        yield "forbidden", replace(bare, forbidden=frozenset([name])), name
    for keys, uuids in zip(group.member_of, stated.member_of, strict=True):
        yield "member_of", replace(itself, member_of=(keys,)), uuids
    for uuid in sorted(stated.not_member_of):
        keys = frozenset([identifiers.key(uuid)])
        yield "not_member_of", replace(bare, not_member_of=keys), uuid
    if group.in_tree is not None:
        yield "in_tree", replace(bare, in_tree=group.in_tree), stated.in_tree or ""
    if group.subtree is not None:
        yield "subtree", replace(bare, subtree=group.subtree), stated.subtree or ""


def root_terms(root: RootTerms, stated: RootTerms) -> Iterator[tuple[Term, RootCondition]]:
    """Yield what is asked of the root, one condition at a time, in the order of the codes."""
    for keyword, single, value in _single_roots(root, stated):
        ((code, condition),) = root_conditions(single)
        yield Term(code, f"root.{keyword}", None, value), condition


def _single_roots(root: RootTerms, stated: RootTerms) -> Iterator[tuple[str, RootTerms, TermValue]]:
    for names in root.required:
        yield "required", RootTerms(required=(names,)), names
    for name in sorted(root.forbidden):
        yield "forbidden", RootTerms(forbidden=frozenset([name])), name
    for keys, uuids in zip(root.member_of, stated.member_of, strict=True):
        yield "member_of", RootTerms(member_of=(keys,)), uuids
    for uuid in sorted(stated.not_member_of):
        keys = frozenset([identifiers.key(uuid)])
        yield "not_member_of", RootTerms(not_member_of=keys), uuid
