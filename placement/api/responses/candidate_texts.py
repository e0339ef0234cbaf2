"""Candidates as text, made once for all that differ in nothing but the UUIDs of providers.

Most hosts are served in few ways: one provider gives everything, or the third child a device. What
the answer says of a way is rendered for the first candidate, and filled in for the others.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from operator import itemgetter
from typing import Any, NamedTuple

import orjson

from placement.api.shapes import Renderer
from placement.candidates.model import Assignment
from placement.candidates.search.candidate import Candidate, Wording, allocations_of, mappings_of

# What candidates are rendered from: provider -> class -> units, suffix -> providers.
Spelled = tuple[Mapping[str, Mapping[str, int]], Mapping[str, Sequence[str]]]

# What stands for a provider in a template. No class and no suffix of a group is called so.
_BLANK = "<{}>"
_BLANKS = re.compile(rb'"<(\d+)>"')

# Ways to serve a request that are remembered; what differs in who serves shares a template.
WAYS = 1024


class _Template(NamedTuple):
    """The text of candidates without UUIDs.

    text: in the form of `%`. arrange: takes the UUIDs of different providers, as text, to all
    places where they stand.
    """

    text: bytes
    arrange: Callable[[Sequence[bytes]], Any]


class _Filling(NamedTuple):
    """What fills the blanks of a template. positions: of the different providers, in pools."""

    positions: Sequence[int]
    template: _Template


def texts(candidates: Iterable[Candidate], render: Renderer) -> Iterator[bytes]:
    """Yield each candidate as JSON; `render` takes what it is rendered from."""
    template_of = lru_cache(WAYS)(partial(_template, render))

    @lru_cache(WAYS)
    def filling_of(wording: Wording, assignment: Assignment) -> _Filling:
        numbers: dict[int, int] = {}  # of the different providers, by position
        for position in assignment:
            numbers.setdefault(position, len(numbers))
        pattern = tuple([numbers[position] for position in assignment])
        return _Filling(tuple(numbers), template_of(wording, pattern))

    dumps = orjson.dumps
    for candidate in candidates:
        positions, (text, arrange) = filling_of(candidate.wording, candidate.assignment)
        members = candidate.pool.members
        yield text % arrange([dumps(members[position].uuid) for position in positions])


def _template(render: Renderer, wording: Wording, pattern: Sequence[int]) -> _Template:
    """Render a candidate whose providers are blanks.

    pattern: slot -> its provider's number, as these come.
    """
    blanks = [_BLANK.format(number) for number in pattern]
    spelled: Spelled = allocations_of(wording.slots, blanks), mappings_of(wording.slots, blanks)
    # Literals, with the number of a provider between each two.
    pieces = _BLANKS.split(orjson.dumps(render(spelled)))
    literals = [literal.replace(b"%", b"%%") for literal in pieces[::2]]
    numbers = map(int, pieces[1::2])
    return _Template(b"%b".join(literals), itemgetter(*numbers))
