"""What a client asks for: request groups and what joins them (contract candidates.md).

One value serves whatever form the request arrives in.
"""

from dataclasses import dataclass

UNSUFFIXED = ""


@dataclass(frozen=True, slots=True)
class RequestGroup:
    """The parameters that share a suffix.

    resources: (class, amount) pairs; none in a resourceless group.
    required: a trait of every set.  forbidden: no trait of these.
    member_of: in an aggregate of every set.  not_member_of: in none of these.
    in_tree: uuid of any provider of the only tree that may serve.
    """

    suffix: str
    resources: tuple[tuple[str, int], ...] = ()
    required: tuple[frozenset[str], ...] = ()
    forbidden: frozenset[str] = frozenset()
    member_of: tuple[frozenset[str], ...] = ()
    not_member_of: frozenset[str] = frozenset()
    in_tree: str | None = None

    @property
    def suffixed(self) -> bool:
        """One provider serves the whole group; otherwise each class may have its own."""
        return self.suffix != UNSUFFIXED


@dataclass(frozen=True, slots=True)
class CandidateRequest:
    """Request groups in the order asked, and what holds for all of them together.

    isolate: suffixed groups use different providers.
    same_subtree: for each set of suffixes, one of the providers serving them is
    ancestor-or-self of all of them.
    limit: candidates wanted at the most; None: all.
    nested: a candidate may use several providers of one tree.
    """

    groups: tuple[RequestGroup, ...]
    isolate: bool = False
    same_subtree: tuple[frozenset[str], ...] = ()
    root_required: frozenset[str] = frozenset()
    root_forbidden: frozenset[str] = frozenset()
    limit: int | None = None
    nested: bool = True
