"""The values of an explanation, made by `explain` and `explain_trace` and read by the API."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from placement.candidates.explanation.terms import StatedTerm
from placement.candidates.trace import Refusal

# Codes of searches and of whole requests, which no host of version 2.0 has.
_OTHERS = {
    Refusal.UNKNOWN_AGGREGATE,
    Refusal.UNKNOWN_TREE,
    Refusal.ONE_PER_TREE,
    Refusal.ELSEWHERE,
    Refusal.FILTERED,
}

# The codes of explanations, in their order.
CODES = tuple(code for code in Refusal if code not in _OTHERS)


class Hosts(NamedTuple):
    """Numbers of hosts."""

    # None if they were not counted.
    all: int | None
    # Hosts that the explanation evaluated.
    looked: int
    served: int
    # Whether all hosts were evaluated, and each was decided.
    complete: bool


class Step(NamedTuple):
    """The number of hosts left before and after a condition; detail: what it requires."""

    code: Refusal
    detail: str
    before: int
    after: int


class Clause(NamedTuple):
    """A predicate of some hosts, which makes a sentence after their number."""

    hosts: int
    predicate: str


class Blocked(NamedTuple):
    """Hosts that fell out at one step."""

    code: Refusal
    # The suffix; None where no single group is to blame.
    group: str | None
    # What is asked, and what there is.
    detail: str
    hosts: int
    # UUIDs of hosts.
    examples: Sequence[str]
    # The same for the text, without hosts that it mentions in another place.
    clauses: Sequence[Clause]
    # Number of hosts that the text mentions in another place.
    aside: int = 0


class Mentions(NamedTuple):
    """What the text says besides the reasons of most hosts."""

    # Number of hosts that only share their inventories and could not serve the request.
    pools: int = 0
    # Clauses about the hosts in whose trees the request wants providers.
    named: Sequence[str] = ()
    # Hosts that have no provider in these trees.
    outside: Clause = Clause(0, "")
    # Sentences about providers and aggregates that do not exist.
    nonexistent: Sequence[str] = ()


class Relaxed(NamedTuple):
    """How many hosts would be served without a term; or, where `to` says so, with less of it."""

    term: StatedTerm
    hosts: int
    to: int | None = None


class UnservedHost(NamedTuple):
    """Why one host is not served, as far as a single provider, and a class, is to blame.

    stock: fields of the inventory, by name.
    """

    host: str
    code: Refusal
    group: str | None = None
    provider: str | None = None
    resource_class: str | None = None
    asked: int | None = None
    room: int | None = None
    stock: Mapping[str, int | float] | None = None


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why hosts are not served.

    groups: suffix -> steps in the order of the codes. together: the steps of what joins groups.
    blocked: most hosts first. relaxations: most hosts first, then the reductions. providers: of
    single hosts, where they were asked for. text: the whole for a person.
    """

    hosts: Hosts
    groups: Mapping[str, Sequence[Step]]
    together: Sequence[Step]
    blocked: Sequence[Blocked]
    relaxations: Sequence[Relaxed]
    text: str
    providers: Sequence[UnservedHost] | None = None
