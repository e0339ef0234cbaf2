"""The questions of how many more of a request fit, and their answers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from placement.candidates.explanation.value import CODES
from placement.candidates.request import CandidateRequest
from placement.candidates.trace import Refusal

# The codes of limits, in their order. Unlike in an explanation, a host may have room only at
# sharing providers of other trees.
LIMIT_CODES = (*CODES, Refusal.ELSEWHERE)


@dataclass(frozen=True, slots=True)
class HeadroomRequest:
    """A question: how many consumers of a request fit."""

    # With resolved names, and a root term for each taint that it does not tolerate.
    request: CandidateRequest
    # Traits of roots whose sharing providers the request may not use.
    taints: frozenset[str] = frozenset()
    # Maximum of all numbers of consumers.
    limit: int = 10_000
    # Aggregate as the client wrote it -> the normalized UUID, or None if it does not exist.
    by: Mapping[str, str | None] = field(default_factory=dict)


class RoomLimit(NamedTuple):
    """Why a host that is full refuses one more consumer."""

    # The check that refuses the consumer.
    code: Refusal
    # Suffix of the group; None if no single group is the cause.
    group: str | None = None
    # Name of the class; None if the code does not concern amounts of one class.
    resource_class: str | None = None


UNDECIDED = RoomLimit(Refusal.BUDGET)


class LimitedHosts(NamedTuple):
    """The hosts with one limit."""

    # The limit that the hosts have in common.
    limit: RoomLimit
    # Number of hosts.
    hosts: int


class Figures(NamedTuple):
    """How many consumers fit on some hosts, with numbers bounded by the limit of the question."""

    # Consumers that certainly fit.
    fits: int
    # Consumers that no placement exceeds.
    at_most: int
    # Whether all hosts were measured.
    complete: bool
    # Number of hosts that take at least one.
    hosts: int
    # Most consumers of one host, each host alone.
    largest: int

    @property
    def exact(self) -> bool:
        """Whether both ends of the interval meet."""
        return self.fits == self.at_most


class Headroom(NamedTuple):
    """The answer to a question."""

    # The figures for all hosts.
    total: Figures
    # Aggregate as the client wrote it -> the figures of hosts whose root is in it.
    by: Mapping[str, Figures]
    # The hosts by their limit, most hosts first.
    limited_by: Sequence[LimitedHosts]
