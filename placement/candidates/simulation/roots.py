"""Checks of the roots in changes. They run before the first change is applied."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from placement.candidates.model import Tree
from placement.candidates.simulation.changes import (
    MAX_ADDED,
    NEW,
    Add,
    Change,
    ClaimOnCopies,
    Remove,
)
from placement.errors import BadBody, NotARoot
from placement.errors.base import at_member
from placement.objects import identifiers


def check_roots(changes: Iterable[Change], trees: Sequence[Tree]) -> list[Change]:
    """Return the changes, with their roots in the stored spelling.

    Raises:
        BadBody: a root does not exist when its change is applied, or too many hosts are added.
        NotARoot: a change names a child.
    """
    roots = _Roots(trees)
    checked: list[Change] = []
    for number, change in enumerate(changes):
        path = f"changes[{number}]"
        if isinstance(change, Add):
            like = roots.stored(change.like, f"{path}.add.like")
            roots.add(change.count, f"{path}.add.count")
            checked.append(replace(change, like=like))
        elif isinstance(change, ClaimOnCopies):
            checked.append(change)
        else:
            keyword = "remove" if isinstance(change, Remove) else "drain"
            stored = []
            for place, root in enumerate(change.roots):
                stored.append(roots.stored(root, f"{path}.{keyword}[{place}]"))
                if isinstance(change, Remove):
                    roots.remove(root)
            checked.append(replace(change, roots=tuple(dict.fromkeys(stored))))
    return checked


class _Roots:
    """The roots that exist at the time when a change is applied."""

    def __init__(self, trees: Sequence[Tree]) -> None:
        self._trees = trees
        # Normalized UUID -> UUID as stored.
        self._stored = {identifiers.canonical(tree.uuid) or tree.uuid: tree.uuid for tree in trees}
        # Keys of the roots that previous changes removed.
        self._removed: set[str] = set()
        # Number of roots that previous changes added.
        self._added = 0

    def stored(self, name: str, path: str) -> str:
        """Return a root in the stored spelling."""
        key = _key(name)
        if key in self._stored and key not in self._removed:
            return self._stored[key]
        if name.startswith(NEW) and key not in self._removed:
            number = name.removeprefix(NEW)
            if number.isdecimal() and name == f"{NEW}{int(number)}" and self._has_added(number):
                return name
        with at_member(path):
            self._refuse_child(key)
            raise BadBody(f"{name} is no root resource provider at this change")

    def _has_added(self, number: str) -> bool:
        return 1 <= int(number) <= self._added

    def remove(self, name: str) -> None:
        self._removed.add(_key(name))

    def add(self, count: int, path: str) -> None:
        self._added += count
        if self._added > MAX_ADDED:
            raise BadBody(f"{path}: a simulation may add {MAX_ADDED:,} hosts")

    def _refuse_child(self, key: str) -> None:
        """Raise NotARoot if the provider is a child."""
        for tree in self._trees:
            for member in tree.members[1:]:
                if (identifiers.canonical(member.uuid) or member.uuid) == key:
                    raise NotARoot(member.uuid, tree.uuid)


def _key(name: str) -> str:
    return identifiers.canonical(name) or name
