"""What a client asks for: request groups and what joins them.

One value serves whatever form the request arrives in.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

UNSUFFIXED = ""

# (keyword, suffix of its group, name) -> what a client calls the place where it said the name.
Place = Callable[[str, str, str], str]


def parameter_of(keyword: str, suffix: str, _name: str) -> str:
    """Return the parameter of a query: the keyword and the suffix of its group."""
    return f"{keyword}{suffix}"


@dataclass(frozen=True, slots=True)
class RequestGroup:
    """The parameters that share a suffix.

    resources: (class, amount) pairs; none in a resourceless group.
    required: a trait of every set.  forbidden: no trait of these.
    member_of: in an aggregate of every set.  not_member_of: in none of these.
    in_tree: uuid of any provider of the only tree that may serve.
    subtree: uuid of the only provider that may serve, together with those below it.
    can_split: classes whose amount several providers of one tree may serve together.
    """

    suffix: str
    resources: tuple[tuple[str, int], ...] = ()
    required: tuple[frozenset[str], ...] = ()
    forbidden: frozenset[str] = frozenset()
    member_of: tuple[frozenset[str], ...] = ()
    not_member_of: frozenset[str] = frozenset()
    in_tree: str | None = None
    subtree: str | None = None
    can_split: frozenset[str] = frozenset()

    @property
    def suffixed(self) -> bool:
        """One provider serves the whole group; otherwise each class may have its own."""
        return self.suffix != UNSUFFIXED


@dataclass(frozen=True, slots=True)
class RootTerms:
    """What the root of the anchor's tree must be, whether or not it serves anything.

    The members mean what they mean in a group.
    """

    required: tuple[frozenset[str], ...] = ()
    forbidden: frozenset[str] = frozenset()
    member_of: tuple[frozenset[str], ...] = ()
    not_member_of: frozenset[str] = frozenset()


class SubtreeRule(NamedTuple):
    """Suffixes of groups by where in a tree they are served.

    One of the providers that serve the groups `inside` is ancestor-or-self of them all; those of
    the groups `outside` are not in its subtree.
    """

    inside: frozenset[str]
    outside: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class CandidateRequest:
    """Request groups in the order asked, and what holds for all of them together.

    isolate: suffixes of groups whose provider serves no other suffixed group.
    same_subtree: how groups stand to each other in a tree.
    root: what the root of the tree must be.
    limit: candidates wanted at the most; None: all.
    nested: a candidate may use several providers of one tree.
    isolate_all: it was said of all suffixed groups at once, by `group_policy`.
    explain: "summary" or "providers" for an explanation of it, as a whole or also of single hosts.
    place: where the request says what, for errors about it.
    """

    groups: tuple[RequestGroup, ...]
    isolate: frozenset[str] = frozenset()
    same_subtree: tuple[SubtreeRule, ...] = ()
    root: RootTerms = RootTerms()
    limit: int | None = None
    nested: bool = True
    isolate_all: bool = field(default=False, compare=False)
    explain: str | None = field(default=None, compare=False)
    place: Place = field(default=parameter_of, compare=False, repr=False)
