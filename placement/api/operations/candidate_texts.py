"""Candidates and provider summaries as text.

Candidates that differ only in the UUIDs of providers share a template, because most hosts serve a
request in few ways: the root serves everything, or the third child serves a device. The first
candidate of each way is rendered as a template, and the template is filled with UUIDs for all
others.

The text of a tree is cached with the tree, because consecutive responses have most trees in common.
Each piece of a summary begins with a comma.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from operator import attrgetter, itemgetter
from typing import NamedTuple

import orjson

from placement.api.history import Feature
from placement.api.members import CLASS_KEY, PARENT_UUID, ROOT_UUID
from placement.api.operations.traits import NAMES
from placement.api.shapes import Json, Object, Property, Renderer, Table, View, ready
from placement.candidates import CandidateRequest, SearchResult
from placement.candidates.model import Assignment, Member, Tree
from placement.candidates.search.candidate import Candidate, SlotLayout, allocations_of, mappings_of
from placement.inventory import Stock

# Input of a renderer: provider -> class -> units, and suffix -> providers.
RenderInput = tuple[Mapping[str, Mapping[str, int]], Mapping[str, Sequence[str]]]

# Placeholder of a provider in a template. No class and no suffix has this form.
_BLANK = "<{}>"
_BLANKS = re.compile(rb'"<(\d+)>"')

LONG = 256  # bytes above which a list of traits is shared among providers
# Maximum number of cached templates.
MAX_TEMPLATES = 1024

# Function that renders a candidate, given the members of its pool.
Render = Callable[[Sequence[Member]], bytes]


class _Template(NamedTuple):
    """The text of candidates without UUIDs."""

    # The parts of the text before, between and after the UUIDs.
    literals: Sequence[bytes]
    # The numbers of the distinct providers whose UUIDs are between the literals.
    numbers: Sequence[int]


def texts(candidates: Iterable[Candidate], render: Renderer) -> Iterator[bytes]:
    """Yield each candidate as JSON, rendered by `render`."""
    template_of = lru_cache(MAX_TEMPLATES)(partial(_template, render))

    @lru_cache(MAX_TEMPLATES)
    def render_of(layout: SlotLayout, assignment: Assignment) -> Render:
        numbers: dict[int, int] = {}  # of distinct providers, by position
        for position in assignment:
            numbers.setdefault(position, len(numbers))
        pattern = tuple([numbers[position] for position in assignment])
        return _render(template_of(layout, pattern), tuple(numbers))

    layout: SlotLayout | None = None
    assignment: Assignment | None = None
    for candidate in candidates:
        # PERF: equal hosts share their assignments, so most candidates are like the previous one.
        if candidate.assignment is not assignment or candidate.layout is not layout:
            layout, assignment = candidate.layout, candidate.assignment
            render_members = render_of(layout, assignment)
        yield render_members(candidate.pool.members)


def _render(template: _Template, positions: Sequence[int]) -> Render:
    """Return a function that fills a template with the UUIDs of the members at these positions."""
    literals, numbers = template
    dumps = orjson.dumps
    if len(positions) == 1:  # PERF: most candidates use a single provider
        (only,) = positions
        return lambda members: dumps(members[only].uuid).join(literals)
    text = b"%b".join([literal.replace(b"%", b"%%") for literal in literals])
    arrange = itemgetter(*numbers)
    return lambda members: text % arrange([dumps(members[each].uuid) for each in positions])


def _template(render: Renderer, layout: SlotLayout, pattern: Sequence[int]) -> _Template:
    """Render a candidate with placeholders instead of providers.

    Args:
        render: function that returns the JSON value of a candidate.
        layout: layout of the candidate.
        pattern: slot -> number of its provider, in order of first use.
    """
    blanks = [_BLANK.format(number) for number in pattern]
    spelled: RenderInput = allocations_of(layout.slots, blanks), mappings_of(layout.slots, blanks)
    # Literals, alternating with the numbers of providers.
    pieces = _BLANKS.split(orjson.dumps(render(spelled)))
    return _Template(pieces[::2], [int(number) for number in pieces[1::2]])


class _Source(NamedTuple):
    """Input of a summary."""

    tree: Tree
    # A member of the tree.
    provider: Member
    # Classes to show. None means all.
    class_names: Collection[str] | None


def _resources(source: _Source) -> Mapping[str, Mapping[str, int]]:
    _tree, provider, class_names = source
    return {
        name: {"capacity": stock.capacity, "used": stock.used}
        for name, stock in provider.stocks.items()
        if class_names is None or name in class_names
    }


def _parent_uuid(source: _Source) -> str | None:
    tree, provider, _class_names = source
    return None if provider.parent < 0 else tree.members[provider.parent].uuid


_STOCK: Object[Stock] = Object(
    "SummaryResource",
    Property("capacity", Json.of("integer", 1024)),
    Property("used", Json.of("integer", 6)),
)
_FACTS = (
    Property("resources", ready(Table(CLASS_KEY, _STOCK)), _resources),
    Property("parent_provider_uuid", PARENT_UUID, _parent_uuid, since="1.29"),
    Property("root_provider_uuid", ROOT_UUID, attrgetter("tree.uuid"), since="1.29"),
)
_TRAITS = Property("traits", NAMES, attrgetter("provider.traits"), since="1.17")
SUMMARY: Object[_Source] = Object("ProviderSummary", *_FACTS, _TRAITS)
_WITHOUT_TRAITS: Object[_Source] = Object("", *_FACTS)


@lru_cache(maxsize=1000)
def _traits_to_end(traits: frozenset[str]) -> bytes:
    # PERF: hosts of a model share their traits, which are most of a response's bytes.
    return b"%b}" % orjson.dumps(list(traits))


def whole_trees(trees: Iterable[Tree], view: View) -> list[bytes]:
    """Summarise all providers of the trees with all their classes."""
    properties = SUMMARY.properties.at(view.version)
    write = _writer(view)
    pieces: list[bytes] = []
    for tree in trees:
        rendered = tree.rendered
        # PERF: consecutive responses have most trees in common. A tree keeps the text of the last
        # requested version, together with an object that identifies that version.
        if rendered is None or rendered[0] is not properties:
            providers = [_Source(tree, provider, None) for provider in tree.members]
            rendered = (properties, *write(providers))
            tree.keep_rendered(rendered)
        pieces += rendered[1:]
    return pieces


def used_providers(result: SearchResult, request: CandidateRequest, view: View) -> list[bytes]:
    """Summarise the providers of candidates; older versions only contain the requested classes."""
    used: set[str] = set()
    for candidate in result.candidates:
        used.update(candidate.allocations)
    all_classes = Feature.ALL_INVENTORIES.at(view.version)
    class_names = None if all_classes else _class_names(request)
    write = _writer(view)
    pieces: list[bytes] = []
    for tree in result.trees:
        providers = [provider for provider in tree.members if provider.uuid in used]
        pieces += write([_Source(tree, provider, class_names) for provider in providers])
    return pieces


def _class_names(request: CandidateRequest) -> set[str]:
    class_names: set[str] = set()
    for group in request.groups:
        class_names.update(name for name, _amount in group.resources)
    return class_names


def _writer(view: View) -> Callable[[Iterable[_Source]], Iterator[bytes]]:
    """Return a function that yields `,"uuid":{…}` for each provider.

    Texts are joined, except for long lists of traits, which providers share.
    """
    render = _WITHOUT_TRAITS.renderer(view)
    with_traits = _TRAITS.name in SUMMARY.properties.at(view.version)

    def write(sources: Iterable[_Source]) -> Iterator[bytes]:
        pieces: list[bytes] = []
        for source in sources:
            uuid, facts = orjson.dumps(source.provider.uuid), orjson.dumps(render(source))
            if not with_traits:
                pieces.append(b",%b:%b" % (uuid, facts))
                continue
            # The facts are a JSON object; its closing brace is cut to append a property.
            pieces.append(b',%b:%b,"traits":' % (uuid, facts[:-1]))
            traits = _traits_to_end(source.provider.traits)
            if len(traits) < LONG:
                pieces.append(traits)
            else:
                # Not joined, because 10,000 hosts of a model share one text in memory.
                yield b"".join(pieces)
                yield traits
                pieces = []
        if pieces:
            yield b"".join(pieces)

    return write
