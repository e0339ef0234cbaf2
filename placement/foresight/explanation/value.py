"""The parts of an explanation. The API reads them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from placement.candidates.model import Refusal
from placement.candidates.request import StatedTerm

# Codes of searches and of whole requests. In version 2.0, no host has these codes.
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
    """Numbers of hosts. Trees that only share resources are no hosts."""

    # All hosts, or None if they were not counted.
    all: int | None
    # Hosts that the explanation evaluated.
    looked: int
    # Hosts that can serve the request.
    served: int
    # Whether all hosts were evaluated and the result of each host is known.
    complete: bool
    # Evaluated trees that only share resources.
    sharing_trees: int = 0
    # Those of them that can serve the request alone.
    serving_trees: int = 0


class Step(NamedTuple):
    """The numbers of hosts before and after a condition."""

    # The code of the condition.
    code: Refusal
    # The requirement of the request at the code.
    detail: str
    # Number of hosts before the condition.
    before: int
    # Number of hosts that satisfy the condition.
    after: int


class Blocked(NamedTuple):
    """Hosts that are rejected at one step."""

    # The code of the condition.
    code: Refusal
    # Suffix of the group, or None if no single group is the cause.
    group: str | None
    # The requirement of the request, and the property of the hosts.
    detail: str
    # Number of hosts.
    hosts: int
    # UUIDs of some hosts.
    examples: Sequence[str]


class Relaxed(NamedTuple):
    """The number of hosts that would be served without a term or with another amount."""

    # The term to omit, or the amount to change.
    term: StatedTerm
    # Number of hosts.
    hosts: int
    # The other amount, or None if the term is omitted.
    to: int | None = None


class UnservedHost(NamedTuple):
    """The reason why a single host is not served."""

    # UUID of the host.
    host: str
    # The code at which it is rejected.
    code: Refusal
    # Suffix of the group, or None if no single group is the cause.
    group: str | None = None
    # UUID of the provider, or None if no single provider is the cause.
    provider: str | None = None
    # Name of the class, or None if the code does not concern amounts.
    resource_class: str | None = None
    # The requested units of the class, or None.
    asked: int | None = None
    # The free units of the class at the provider, or None.
    room: int | None = None
    # Field of the inventory -> value, or None if there is no relevant inventory.
    stock: Mapping[str, int | float] | None = None


@dataclass(frozen=True, slots=True)
class Reasons:
    """Why hosts cannot serve a request, for log lines and simulations."""

    # The numbers of hosts.
    hosts: Hosts
    # The number of rejected hosts by code, most hosts first.
    counts: Mapping[Refusal, int]
    # A summary for operators.
    text: str


@dataclass(frozen=True, slots=True)
class Explanation(Reasons):
    """Why hosts cannot serve a request, by group and condition, and which changes would help."""

    # Suffix -> steps, in the order of the codes.
    groups: Mapping[str, Sequence[Step]]
    # The steps of the conditions that join groups.
    together: Sequence[Step]
    # Rejected hosts by step, most hosts first.
    blocked: Sequence[Blocked]
    # Terms to omit, most hosts first. Smaller amounts follow.
    relaxations: Sequence[Relaxed]
    # Single hosts, or None unless they were requested.
    providers: Sequence[UnservedHost] | None = None
