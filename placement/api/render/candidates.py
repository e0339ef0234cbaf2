"""Allocation candidates as clients see them (contract candidates.md section 11)."""

from collections.abc import Iterable, Mapping
from typing import Any

from placement.candidates import Found
from placement.candidates.model import Candidate, Member, Tree


def answer(found: Found) -> Mapping[str, Any]:
    """Candidates, and every provider of the trees that they take something from."""
    return {
        "allocation_requests": [_candidate(candidate) for candidate in found.candidates],
        "provider_summaries": dict(_summaries(found.trees)),
    }


def _candidate(candidate: Candidate) -> Mapping[str, Any]:
    return {
        "allocations": {
            uuid: {"resources": amounts} for uuid, amounts in candidate.allocations.items()
        },
        "mappings": candidate.mappings,
    }


def _summaries(trees: Iterable[Tree]) -> Iterable[tuple[str, Mapping[str, Any]]]:
    for tree in trees:
        for member in tree.members:
            yield member.uuid, _summary(tree, member)


def _summary(tree: Tree, member: Member) -> Mapping[str, Any]:
    return {
        "resources": {
            name: {"capacity": stock.capacity, "used": stock.used}
            for name, stock in member.stocks.items()
        },
        "traits": list(member.traits),
        "parent_provider_uuid": (None if member.parent < 0 else tree.members[member.parent].uuid),
        "root_provider_uuid": tree.uuid,
    }
