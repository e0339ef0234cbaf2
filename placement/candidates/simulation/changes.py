"""The changes that a simulation applies, and checks of their roots."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from placement.candidates.headroom import HeadroomQuery
from placement.candidates.model import Tree
from placement.candidates.request import CandidateRequest
from placement.errors import BadBody, NotARoot
from placement.errors.base import at_member
from placement.objects import identifiers
from placement.objects.claims import SpreadGroup

# Maximum number of hosts that all changes together add.
MAX_ADDED = 10_000

# The prefix of the UUIDs of added hosts. A number, starting with 1, follows.
NEW = "new:"


@dataclass(frozen=True, slots=True)
class Drain:
    """Drain hosts: they serve no further consumers, and their consumers move to other hosts."""

    # UUIDs of roots.
    roots: Sequence[str]


@dataclass(frozen=True, slots=True)
class Remove:
    """Remove hosts and all allocations from them."""

    # UUIDs of roots.
    roots: Sequence[str]


@dataclass(frozen=True, slots=True)
class Add:
    """Add unused hosts that are copies of an existing host."""

    # UUID of a root.
    like: str
    # Number of hosts.
    count: int


@dataclass(frozen=True, slots=True)
class ClaimOnCopies:
    """Claim resources on the copies of the trees."""

    # The request whose first candidate is claimed.
    request: CandidateRequest
    # The spread group that the claim joins, or None. The group exists only in the simulation.
    spread: SpreadGroup | None = None


Change = Drain | Remove | Add | ClaimOnCopies


@dataclass(frozen=True, slots=True)
class SimulationRequest:
    """The changes to simulate."""

    # The changes in the order of their application.
    changes: Sequence[Change]
    # Reads a stored request from JSON. Raises BadQuery.
    read_request: Callable[[Mapping[str, Any]], CandidateRequest]
    # Consumer UUID -> the request that its new allocations must satisfy.
    requests: Mapping[str, CandidateRequest] = field(default_factory=dict)
    # A request without groups. It contains the order of the hosts. Without an order, hosts are
    # sorted by the UUID of the root.
    order_request: CandidateRequest = field(default_factory=lambda: CandidateRequest(()))
    # Requests whose headroom is measured after the changes, or None.
    headroom: HeadroomQuery | None = None


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
            for position, root in enumerate(change.roots):
                stored.append(roots.stored(root, f"{path}.{keyword}[{position}]"))
                if isinstance(change, Remove):
                    roots.remove(root)
            checked.append(replace(change, roots=tuple(dict.fromkeys(stored))))
    return checked


class _Roots:
    """The roots that exist at the time when a change is applied."""

    def __init__(self, trees: Sequence[Tree]) -> None:
        self._trees = trees
        # Normalized UUID -> UUID as stored.
        self._stored = {_key(tree.uuid): tree.uuid for tree in trees}
        # Number of roots that previous changes added.
        self._added = 0

    def stored(self, name: str, path: str) -> str:
        """Return a root in the stored spelling."""
        root = self._stored.get(_key(name))
        if root is not None:
            return root
        with at_member(path):
            self._refuse_child(_key(name))
            raise BadBody(f"{name} is no root resource provider at this change")

    def remove(self, name: str) -> None:
        del self._stored[_key(name)]

    def add(self, count: int, path: str) -> None:
        if self._added + count > MAX_ADDED:
            raise BadBody(f"{path}: a simulation may add {MAX_ADDED:,} hosts")
        for _ in range(count):
            self._added += 1
            self._stored[f"{NEW}{self._added}"] = f"{NEW}{self._added}"

    def _refuse_child(self, key: str) -> None:
        """Raise NotARoot if the provider is a child."""
        for tree in self._trees:
            for member in tree.members[1:]:
                if _key(member.uuid) == key:
                    raise NotARoot(member.uuid, tree.uuid)


def _key(name: str) -> str:
    return identifiers.canonical(name) or name
