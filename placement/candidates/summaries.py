"""Which providers an answer tells about (contract candidates.md section 11)."""

from collections.abc import Iterable

from placement.candidates.model import Candidate, Tree


def trees_of(candidates: Iterable[Candidate]) -> list[Tree]:
    """The trees that have a provider with an allocation in some candidate, each once."""
    found: dict[str, Tree] = {}
    for candidate in candidates:
        for tree in candidate.trees:
            found.setdefault(tree.uuid, tree)
    return list(found.values())
