"""Candidates as text, rendered from templates.

Candidates that differ only in the UUIDs of providers share a template, because most hosts serve a
request in few ways: the root serves everything, or the third child serves a device. The first
candidate of each way is rendered as a template, and the template is filled with UUIDs for all
others.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from operator import itemgetter
from typing import NamedTuple

import orjson

from placement.api.shapes import Renderer
from placement.candidates.model import Assignment, Member
from placement.candidates.search.candidate import Candidate, SlotLayout, allocations_of, mappings_of

# Input of a renderer: provider -> class -> units, and suffix -> providers.
RenderInput = tuple[Mapping[str, Mapping[str, int]], Mapping[str, Sequence[str]]]

# Placeholder of a provider in a template. No class and no suffix has this form.
_BLANK = "<{}>"
_BLANKS = re.compile(rb'"<(\d+)>"')

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
