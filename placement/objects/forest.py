"""Which tree each provider belongs to, worked out from the parents alone."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Survey:
    """What the parents say.

    roots: provider -> root, for all that have one. stray: providers whose parent is not there;
    they count as roots. endless: providers from which the line of parents never ends.
    """

    roots: Mapping[int, int]
    stray: frozenset[int]
    endless: frozenset[int]


def survey(parents: Mapping[int, int | None]) -> Survey:
    """Find the root of every provider; `parents` maps the ids of all of them."""
    roots: dict[int, int] = {}
    stray: set[int] = set()
    endless: set[int] = set()
    for start in parents:
        line: dict[int, None] = {}  # a set in order
        here = start
        while here not in roots and here not in endless and here not in line:
            line[here] = None
            parent = parents[here]
            if parent is None or parent not in parents:
                roots[here] = here
                if parent is not None:
                    stray.add(here)
            else:
                here = parent
        if here in roots:
            roots.update(dict.fromkeys(line, roots[here]))
        else:
            endless.update(line)
    return Survey(roots, frozenset(stray), frozenset(endless))
