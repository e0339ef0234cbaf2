"""Allocation candidates as clients see them.

An answer is text in pieces. What a tree shows is made into text once and kept with it, as most
trees of an answer are those of the one before.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from operator import attrgetter, itemgetter
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import orjson

from placement.api import samples
from placement.api.history import Feature
from placement.api.microversion import Microversion
from placement.api.responses.common import (
    AMOUNTS,
    CLASS_KEY,
    PARENT_UUID,
    ROOT_UUID,
    UUID,
    UUID_KEY,
)
from placement.api.responses.traits import NAMES
from placement.api.shapes import (
    Array,
    Fragment,
    Json,
    Member,
    Object,
    Renderer,
    Shape,
    Table,
    View,
    itself,
)
from placement.candidates import CandidateRequest, SearchResult
from placement.candidates.model import Member as Provider
from placement.candidates.model import Tree
from placement.objects.capacity import Stock

AT_ONCE = 400_000  # bytes of candidates made into text together
LONG = 256  # bytes of a list of traits that is worth sharing among providers


class Candidates(NamedTuple):
    """What was found, and the request that it was found for."""

    result: SearchResult
    request: CandidateRequest


# -- allocation requests --------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Ready:
    """Values that are in a shape already.

    PERF: there may be 100,000 candidates, which their own functions render faster.
    """

    shape: Shape

    def schema(self, version: Microversion) -> Fragment:
        """Return the schema of the shape."""
        return self.shape.schema(version)

    def renderer(self, view: View) -> Renderer:
        """Return what does nothing."""
        return itself


# What candidates give when they are spelled out: provider -> class -> units, suffix -> providers.
Spelled = tuple[Mapping[str, Mapping[str, int]], Mapping[str, Sequence[str]]]


def _as_list(spelled: Spelled) -> Sequence[Mapping[str, Any]]:
    allocations, _mappings = spelled
    return [
        {"resource_provider": {"uuid": uuid}, "resources": amounts}
        for uuid, amounts in allocations.items()
    ]


def _as_object(spelled: Spelled) -> Mapping[str, Mapping[str, Any]]:
    allocations, _mappings = spelled
    return {uuid: {"resources": amounts} for uuid, amounts in allocations.items()}


_LISTED = Array(
    Object(
        "CandidateAllocation",
        Member("resource_provider", Object("CandidateProvider", Member("uuid", UUID))),
        Member("resources", AMOUNTS),
    )
)
_BY_PROVIDER = Table(UUID_KEY, Object("CandidateAllocation", Member("resources", AMOUNTS)))
_MAPPINGS = Json(
    {
        "title": "Mappings",
        "type": "object",
        "additionalProperties": {"type": "array", "items": {"type": "string"}},
        "examples": [{"": [samples.PROVIDER]}],
    }
)
REQUEST: Object[Spelled] = Object(
    "AllocationRequest",
    Member("allocations", _Ready(_LISTED), _as_list, since="1.10"),
    Member("allocations", _Ready(_BY_PROVIDER), _as_object, since="1.12"),
    Member("mappings", _MAPPINGS, itemgetter(1), since=Feature.MAPPINGS.value),
)


def _listed(result: SearchResult, render: Renderer) -> Iterator[bytes]:
    at_once = max(1, AT_ONCE // result.candidate_size)
    for start in range(0, len(result.candidates), at_once):
        if start:
            yield b","
        candidates = result.candidates[start : start + at_once]
        yield orjson.dumps([render(candidate.spelled()) for candidate in candidates])[1:-1]


# -- provider summaries ---------------------------------------------------------------------


class _Summarised(NamedTuple):
    """A provider of a tree, and the classes to show of it; None: all."""

    tree: Tree
    provider: Provider
    class_names: Collection[str] | None


def _resources(summarised: _Summarised) -> Mapping[str, Mapping[str, int]]:
    _tree, provider, class_names = summarised
    return {
        name: {"capacity": stock.capacity, "used": stock.used}
        for name, stock in provider.stocks.items()
        if class_names is None or name in class_names
    }


def _parent_uuid(summarised: _Summarised) -> str | None:
    tree, provider, _class_names = summarised
    return None if provider.parent < 0 else tree.members[provider.parent].uuid


_STOCK: Object[Stock] = Object(
    "SummaryResource",
    Member("capacity", Json({"type": "integer", "examples": [1024]})),
    Member("used", Json({"type": "integer", "examples": [6]})),
)
_FACTS = (
    Member("resources", _Ready(Table(CLASS_KEY, _STOCK)), _resources, since="1.10"),
    Member("parent_provider_uuid", PARENT_UUID, _parent_uuid, since="1.29"),
    Member("root_provider_uuid", ROOT_UUID, attrgetter("tree.uuid"), since="1.29"),
)
_TRAITS = Member("traits", NAMES, attrgetter("provider.traits"), since="1.17")
SUMMARY: Object[_Summarised] = Object("ProviderSummary", *_FACTS, _TRAITS)
_WITHOUT_TRAITS: Object[_Summarised] = Object("", *_FACTS)

# PERF: most trees of an answer are those of the one before. What was made of a tree at the latest
# version asked for goes with the tree.
_RENDERED: WeakKeyDictionary[Tree, tuple[Mapping[str, Member], Collection[bytes]]] = (
    WeakKeyDictionary()
)


@lru_cache(maxsize=10_000)
def _trait_names(traits: frozenset[str]) -> bytes:
    # PERF: hosts of one model have the same traits, which are most of an answer's bytes.
    return orjson.dumps(list(traits))


def _summaries(candidates: Candidates, view: View) -> list[bytes]:
    """Return the members of the object of summaries, as text in pieces."""
    if Feature.NESTED_CANDIDATES.at(view.version):
        pieces = _whole_trees(candidates.result.trees, view)
    else:
        pieces = _used_providers(candidates, view)
    if pieces:
        pieces[0] = pieces[0].removeprefix(b",")
    return pieces


def _whole_trees(trees: Iterable[Tree], view: View) -> list[bytes]:
    """Summarise all providers of the trees with all their classes."""
    members = SUMMARY.members.at(view.version)
    write = _writer(view)
    pieces: list[bytes] = []
    for tree in trees:
        rendered = _RENDERED.get(tree)
        if rendered is None or rendered[0] is not members:
            providers = [_Summarised(tree, provider, None) for provider in tree.members]
            rendered = _RENDERED[tree] = (members, tuple(write(providers)))
        pieces += rendered[1]
    return pieces


def _used_providers(candidates: Candidates, view: View) -> list[bytes]:
    """Summarise the providers that candidates use, in older versions only what they ask of them."""
    result, request = candidates
    used: set[str] = set()
    for candidate in result.candidates:
        used.update(candidate.allocations)
    class_names: set[str] | None = None
    if not Feature.ALL_INVENTORIES.at(view.version):
        class_names = set()
        for group in request.groups:
            class_names.update(name for name, _amount in group.resources)
    write = _writer(view)
    pieces: list[bytes] = []
    for tree in result.trees:
        providers = [provider for provider in tree.members if provider.uuid in used]
        pieces += write([_Summarised(tree, provider, class_names) for provider in providers])
    return pieces


def _writer(view: View) -> Callable[[Iterable[_Summarised]], Iterator[bytes]]:
    """Return what yields `,"uuid":{…}` of each provider.

    Text is joined, but for long lists of traits, which providers share.
    """
    render = _WITHOUT_TRAITS.renderer(view)
    with_traits = _TRAITS.name in SUMMARY.members.at(view.version)

    def write(providers: Iterable[_Summarised]) -> Iterator[bytes]:
        pieces: list[bytes] = []
        for each in providers:
            uuid, facts = orjson.dumps(each.provider.uuid), orjson.dumps(render(each))
            if not with_traits:
                pieces.append(b",%b:%b" % (uuid, facts))
                continue
            pieces.append(b',%b:%b,"traits":' % (uuid, facts[:-1]))
            traits = _trait_names(each.provider.traits)
            if len(traits) < LONG:
                pieces += (traits, b"}")
            else:
                yield b"".join(pieces)
                yield traits
                pieces = [b"}"]
        if pieces:
            yield b"".join(pieces)

    return write


# -- both -----------------------------------------------------------------------------------

_MEMBERS: Object[Candidates] = Object(
    "AllocationCandidates",
    Member("allocation_requests", Array(REQUEST), since="1.10"),
    Member("provider_summaries", Table(UUID_KEY, SUMMARY), since="1.10"),
)


class _InPieces:
    """Candidates, and the providers of the trees that they take something from, as text."""

    def schema(self, version: Microversion) -> Fragment:
        """Return the schema of the whole."""
        return _MEMBERS.schema(version)

    def renderer(self, view: View) -> Renderer:
        """Return what makes the text, in pieces."""
        request = REQUEST.renderer(view)
        return lambda candidates: [
            b'{"allocation_requests":[',
            *_listed(candidates.result, request),
            b'],"provider_summaries":{',
            *_summaries(candidates, view),
            b"}}",
        ]


CANDIDATES = _InPieces()
