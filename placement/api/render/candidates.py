"""Allocation candidates as clients see them (contract candidates.md section 11)."""

from collections.abc import Callable, Collection, Iterable, Mapping
from functools import lru_cache
from typing import Any

import orjson

from placement.api.history import Feature
from placement.api.microversion import Microversion
from placement.api.versioned import Versioned, growing
from placement.candidates import CandidateRequest, Found
from placement.candidates.model import Candidate, Member, Tree

SUMMARY = growing(
    {
        "1.10": ("resources",),
        "1.17": ("traits",),
        "1.29": ("parent_provider_uuid", "root_provider_uuid"),
    }
)


def answer(found: Found, request: CandidateRequest, version: Microversion) -> Mapping[str, Any]:
    """Candidates, and the providers of the trees that they take something from."""
    form = CANDIDATE.at(version)
    used = None
    if not Feature.NESTED_CANDIDATES.at(version):
        used = {uuid for candidate in found.candidates for uuid in candidate.allocations}
    asked = None
    if not Feature.ALL_INVENTORIES.at(version):
        asked = {name for group in request.groups for name, _amount in group.resources}
    shown = SUMMARY.at(version)
    return {
        "allocation_requests": [form(candidate) for candidate in found.candidates],
        "provider_summaries": dict(_summaries(found.trees, shown, used, asked)),
    }


def _as_list(candidate: Candidate) -> Mapping[str, Any]:
    return {
        "allocations": [
            {"resource_provider": {"uuid": uuid}, "resources": amounts}
            for uuid, amounts in candidate.allocations.items()
        ]
    }


def _as_object(candidate: Candidate) -> Mapping[str, Any]:
    return {
        "allocations": {
            uuid: {"resources": amounts} for uuid, amounts in candidate.allocations.items()
        }
    }


def _with_mappings(candidate: Candidate) -> Mapping[str, Any]:
    return {**_as_object(candidate), "mappings": candidate.mappings}


CANDIDATE: Versioned[Callable[[Candidate], Mapping[str, Any]]] = Versioned(
    {"1.10": _as_list, "1.12": _as_object, Feature.MAPPINGS.value: _with_mappings}
)


def _summaries(
    trees: Iterable[Tree],
    shown: Collection[str],
    used: Collection[str] | None,
    asked: Collection[str] | None,
) -> Iterable[tuple[str, Mapping[str, Any]]]:
    """Summaries of the `used` providers of the trees with the classes `asked`; None: all."""
    parts = [(name, _PARTS[name]) for name in shown]
    for tree in trees:
        for member in tree.members:
            if used is None or member.uuid in used:
                yield member.uuid, {name: part(tree, member, asked) for name, part in parts}


def _resources(_tree: Tree, member: Member, asked: Collection[str] | None) -> Mapping[str, Any]:
    return {
        name: {"capacity": stock.capacity, "used": stock.used}
        for name, stock in member.stocks.items()
        if asked is None or name in asked
    }


@lru_cache(maxsize=10_000)
def _names(traits: frozenset[str]) -> orjson.Fragment:
    # PERF: hosts of one model have the same traits, which are most of an answer's bytes.
    return orjson.Fragment(orjson.dumps(list(traits)))


_PARTS: Mapping[str, Callable[[Tree, Member, Collection[str] | None], Any]] = {
    "resources": _resources,
    "traits": lambda _tree, member, _asked: _names(member.traits),
    "parent_provider_uuid": lambda tree, member, _asked: (
        None if member.parent < 0 else tree.members[member.parent].uuid
    ),
    "root_provider_uuid": lambda tree, _member, _asked: tree.uuid,
}
