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
from typing import Any, NamedTuple

import orjson

from placement.api.shapes import Renderer
from placement.candidates.model import Assignment
from placement.candidates.search.candidate import Candidate, SlotLayout, allocations_of, mappings_of

# Input of a renderer: provider -> class -> units, and suffix -> providers.
RenderInput = tuple[Mapping[str, Mapping[str, int]], Mapping[str, Sequence[str]]]

# Placeholder of a provider in a template. No class and no suffix has this form.
_BLANK = "<{}>"
_BLANKS = re.compile(rb'"<(\d+)>"')

# Maximum number of cached templates.
MAX_TEMPLATES = 1024


class _Template(NamedTuple):
    """The text of candidates without UUIDs."""

    # A format string for `%`.
    text: bytes
    # Function that returns the UUIDs of distinct providers in the order of the format string.
    arrange: Callable[[Sequence[bytes]], Any]


class _Filling(NamedTuple):
    """A template, and the providers that fill it."""

    # Positions of the distinct providers in pools.
    positions: Sequence[int]
    # The template of the text.
    template: _Template


def texts(candidates: Iterable[Candidate], render: Renderer) -> Iterator[bytes]:
    """Yield each candidate as JSON, rendered by `render`."""
    template_of = lru_cache(MAX_TEMPLATES)(partial(_template, render))

    @lru_cache(MAX_TEMPLATES)
    def filling_of(layout: SlotLayout, assignment: Assignment) -> _Filling:
        numbers: dict[int, int] = {}  # of distinct providers, by position
        for position in assignment:
            numbers.setdefault(position, len(numbers))
        pattern = tuple([numbers[position] for position in assignment])
        return _Filling(tuple(numbers), template_of(layout, pattern))

    dumps = orjson.dumps
    for candidate in candidates:
        positions, (text, arrange) = filling_of(candidate.layout, candidate.assignment)
        members = candidate.pool.members
        yield text % arrange([dumps(members[position].uuid) for position in positions])


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
    literals = [literal.replace(b"%", b"%%") for literal in pieces[::2]]
    numbers = map(int, pieces[1::2])
    return _Template(b"%b".join(literals), itemgetter(*numbers))
