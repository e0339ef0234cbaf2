"""Allocation candidates as clients see them (contract candidates.md section 11).

An answer is text in pieces. What a tree has to tell is made into text once and kept with it, as
most trees of an answer are those of the one before.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from functools import lru_cache
from typing import Any
from weakref import WeakKeyDictionary

import orjson

from placement.api.history import Feature
from placement.api.microversion import Microversion
from placement.api.versioned import Versioned, growing
from placement.candidates import CandidateRequest, SearchResult
from placement.candidates.candidate import Candidate
from placement.candidates.model import Member, Tree

AT_ONCE = 400_000  # bytes of candidates made into text together
LONG = 256  # bytes of a list of traits that is worth sharing among providers

# PERF: most trees of an answer are those of the one before. What was made of a tree for the latest
# version asked goes with the tree.
_RENDERED: WeakKeyDictionary[Tree, tuple[Collection[str], Collection[bytes]]] = WeakKeyDictionary()

SUMMARY = growing(
    {
        "1.10": ("resources",),
        "1.17": ("traits",),
        "1.29": ("parent_provider_uuid", "root_provider_uuid"),
    }
)


def answer(result: SearchResult, request: CandidateRequest, version: Microversion) -> list[bytes]:
    """Candidates, and the providers of the trees that they take something from."""
    shown = SUMMARY.at(version)
    if Feature.NESTED_CANDIDATES.at(version):
        told = [piece for tree in result.trees for piece in _all_told(tree, shown)]
    else:
        used = {uuid for candidate in result.candidates for uuid in candidate.allocations}
        asked = None
        if not Feature.ALL_INVENTORIES.at(version):
            asked = {name for group in request.groups for name, _amount in group.resources}
        told = [piece for tree in result.trees for piece in _told(tree, shown, used, asked)]
    if told:
        told[0] = told[0].removeprefix(b",")
    return [
        b'{"allocation_requests":[',
        *_listed(result, CANDIDATE.at(version)),
        b'],"provider_summaries":{',
        *told,
        b"}}",
    ]


def _listed(
    result: SearchResult, form: Callable[[Candidate], Mapping[str, Any]]
) -> Iterator[bytes]:
    at_once = max(1, AT_ONCE // result.candidate_size)
    for start in range(0, len(result.candidates), at_once):
        if start:
            yield b","
        some = result.candidates[start : start + at_once]
        yield orjson.dumps([form(candidate) for candidate in some])[1:-1]


def _as_list(candidate: Candidate) -> Mapping[str, Any]:
    return {
        "allocations": [
            {"resource_provider": {"uuid": uuid}, "resources": amounts}
            for uuid, amounts in candidate.allocations.items()
        ]
    }


def _as_object(candidate: Candidate) -> Mapping[str, Any]:
    allocations, _mappings = candidate.spelled()
    return {"allocations": {uuid: {"resources": amounts} for uuid, amounts in allocations.items()}}


def _with_mappings(candidate: Candidate) -> Mapping[str, Any]:
    allocations, mappings = candidate.spelled()
    return {
        "allocations": {uuid: {"resources": amounts} for uuid, amounts in allocations.items()},
        "mappings": mappings,
    }


CANDIDATE: Versioned[Callable[[Candidate], Mapping[str, Any]]] = Versioned(
    {"1.10": _as_list, "1.12": _as_object, Feature.MAPPINGS.value: _with_mappings}
)


def _all_told(tree: Tree, shown: Collection[str]) -> Collection[bytes]:
    """`_told` of all providers with all their classes, kept with the tree."""
    rendered = _RENDERED.get(tree)
    if rendered is None or rendered[0] != shown:
        rendered = _RENDERED[tree] = (shown, tuple(_told(tree, shown, None, None)))
    return rendered[1]


def _told(
    tree: Tree, shown: Collection[str], used: Collection[str] | None, asked: Collection[str] | None
) -> Iterator[bytes]:
    """Summaries of the `used` providers of a tree with the classes `asked`; None: all.

    Each begins with a comma.
    """
    parts = [(name, part) for name, part in _PARTS.items() if name in shown]
    text: list[bytes] = []
    for member in tree.members:
        if used is not None and member.uuid not in used:
            continue
        summary = {name: part(tree, member, asked) for name, part in parts}
        text += (b",", orjson.dumps(member.uuid), b":", orjson.dumps(summary))
        if "traits" in shown:
            traits = _names(member.traits)
            text[-1] = text[-1][:-1] + b',"traits":'
            if len(traits) >= LONG:
                yield b"".join(text)
                yield traits
                text = [b"}"]
            else:
                text += (traits, b"}")
    if text:
        yield b"".join(text)


def _resources(_tree: Tree, member: Member, asked: Collection[str] | None) -> Mapping[str, Any]:
    return {
        name: {"capacity": stock.capacity, "used": stock.used}
        for name, stock in member.stocks.items()
        if asked is None or name in asked
    }


@lru_cache(maxsize=10_000)
def _names(traits: frozenset[str]) -> bytes:
    # PERF: hosts of one model have the same traits, which are most of an answer's bytes.
    return orjson.dumps(list(traits))


_PARTS: Mapping[str, Callable[[Tree, Member, Collection[str] | None], Any]] = {
    "resources": _resources,
    "parent_provider_uuid": lambda tree, member, _asked: (
        None if member.parent < 0 else tree.members[member.parent].uuid
    ),
    "root_provider_uuid": lambda tree, _member, _asked: tree.uuid,
}
