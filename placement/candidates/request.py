"""What a client asks for: request groups and what joins them.

One value serves whatever form the request arrives in.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from placement.candidates.order import Order
from placement.candidates.terms import RequiredTraits, Term, of_kind

UNSUFFIXED = ""

# (keyword, suffix of its group, name) -> what a client calls the place where it said the name.
Place = Callable[[str, str, str], str]


def parameter_of(keyword: str, suffix: str, _name: str) -> str:
    """Return the parameter of a query: the keyword and the suffix of its group."""
    return f"{keyword}{suffix}"


@dataclass(frozen=True, slots=True)
class RequestGroup:
    """The parameters that share a suffix.

    A group without resources serves nothing, and stands somewhere all the same.
    """

    suffix: str
    # (class, units) pairs.
    resources: tuple[tuple[str, int], ...] = ()
    # What else a provider must meet, in the order of `terms.ordered`.
    terms: tuple[Term, ...] = ()
    # Classes whose amount several providers of one tree may serve together.
    can_split: frozenset[str] = frozenset()

    @property
    def suffixed(self) -> bool:
        """One provider serves the whole group; otherwise each class may have its own."""
        return self.suffix != UNSUFFIXED


class Slot(NamedTuple):
    """What one provider must serve whole.

    A suffixed group is one slot. The unsuffixed group has one for each of its classes, with the
    group's terms. resources: (class, units) pairs.
    """

    group: RequestGroup
    resources: tuple[tuple[str, int], ...]


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
    root: what the root of the anchor's tree must meet, whether or not it serves anything.
    limit: candidates wanted at the most; None: all.
    nested: a candidate may use several providers of one tree.
    order: in which hosts are wanted; empty: in any.
    tolerate: traits that the root may have although they are taints.
    isolate_all: it was said of all suffixed groups at once, by `group_policy`.
    explain: "summary" or "providers" for an explanation of it, as a whole or also of single hosts.
    place: where the request says what, for errors about it.
    """

    groups: tuple[RequestGroup, ...]
    isolate: frozenset[str] = frozenset()
    same_subtree: tuple[SubtreeRule, ...] = ()
    root: tuple[Term, ...] = ()
    limit: int | None = None
    nested: bool = True
    tolerate: frozenset[str] = frozenset()
    order: Order = ()
    isolate_all: bool = field(default=False, compare=False)
    explain: str | None = field(default=None, compare=False)
    place: Place = field(default=parameter_of, compare=False, repr=False)

    @property
    def tolerated(self) -> frozenset[str]:
        """The traits that leave no host out as taints: `tolerate`, and all required ones."""
        terms = [*self.root, *(term for group in self.groups for term in group.terms)]
        required = [term.any_of for term in of_kind(terms, RequiredTraits)]
        return self.tolerate.union(*required)
