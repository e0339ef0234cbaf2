"""The root of each provider, and what is below it, worked out from parents alone."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Lineage:
    """Where the parent chains of providers lead.

    roots: provider -> root, for all that have one. orphans: providers whose parent does not
    exist; they count as roots. cyclic: providers whose parent chain contains a cycle.
    """

    roots: Mapping[int, int]
    orphans: frozenset[int]
    cyclic: frozenset[int]


def trace(parents: Mapping[int, int | None]) -> Lineage:
    """Follow the parents of every provider (provider -> parent) to its root."""
    roots: dict[int, int] = {}
    orphans: set[int] = set()
    cyclic: set[int] = set()
    for provider in parents:
        # Climb until the answer is known: at a root, at a chain followed before, or in a circle.
        chain: dict[int, None] = {}  # an ordered set
        ancestor = provider
        while ancestor not in roots and ancestor not in cyclic and ancestor not in chain:
            chain[ancestor] = None
            parent = parents[ancestor]
            if parent is None:
                roots[ancestor] = ancestor
            elif parent not in parents:
                roots[ancestor] = ancestor
                orphans.add(ancestor)
            else:
                ancestor = parent
        # The answer is that of all providers on the way.
        if ancestor in roots:
            roots.update(dict.fromkeys(chain, roots[ancestor]))
        else:
            cyclic.update(chain)
    return Lineage(roots, frozenset(orphans), frozenset(cyclic))


def below(parents: Mapping[int, int | None], top: int) -> set[int]:
    """Return a provider and all providers below it."""
    children: dict[int | None, list[int]] = {}
    for provider, parent in parents.items():
        children.setdefault(parent, []).append(provider)
    subtree: set[int] = set()
    unvisited = [top]
    while unvisited:
        provider = unvisited.pop()
        subtree.add(provider)
        unvisited += children.pop(provider, [])
    return subtree
