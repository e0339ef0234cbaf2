"""Roots and subtrees of providers, computed only from the parents."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Lineage:
    """The roots of providers, computed from parents."""

    # Provider -> root, without providers that are part of a cycle.
    roots: Mapping[int, int]
    # Providers whose parent does not exist. They count as roots.
    orphans: frozenset[int]
    # Providers whose chain of parents contains a cycle.
    cyclic: frozenset[int]


def trace(parents: Mapping[int, int | None]) -> Lineage:
    """Follow the parents of every provider (provider -> parent) to its root."""
    roots: dict[int, int] = {}
    orphans: set[int] = set()
    cyclic: set[int] = set()
    for provider in parents:
        # Follow the parents until a root, a provider with a known result, or a cycle is found.
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
        # The result applies to all providers in the chain.
        if ancestor in roots:
            roots.update(dict.fromkeys(chain, roots[ancestor]))
        else:
            cyclic.update(chain)
    return Lineage(roots, frozenset(orphans), frozenset(cyclic))


def below(parents: Mapping[int, int | None], top: int) -> set[int]:
    """Return a provider and all of its descendants."""
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
