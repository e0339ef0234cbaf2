"""The questions of how many more consumers of a request fit, and their results."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from placement.candidates.request import CandidateRequest
from placement.candidates.trace import Refusal


@dataclass(frozen=True, slots=True)
class HeadroomRequest:
    """A question: how many consumers of a request fit."""

    # The request with resolved names, and with a root term for each taint that it does not
    # tolerate.
    request: CandidateRequest
    # Traits of roots whose sharing providers the request cannot use.
    taints: frozenset[str] = frozenset()
    # Maximum of all numbers of consumers.
    limit: int = 10_000
    # Aggregate, as written by the client -> the normalized UUID, or None if it does not exist.
    by: Mapping[str, str | None] = field(default_factory=dict)


class RoomLimit(NamedTuple):
    """The reason why a full host cannot serve another consumer."""

    # The check that rejects the consumer.
    code: Refusal
    # Suffix of the group, or None if no single group is the cause.
    group: str | None = None
    # Name of the class, or None if the code does not concern amounts of one class.
    resource_class: str | None = None


UNDECIDED = RoomLimit(Refusal.BUDGET)


class LimitedHosts(NamedTuple):
    """The hosts with one limit."""

    # The limit that the hosts have in common.
    limit: RoomLimit
    # Number of hosts.
    hosts: int


class Figures(NamedTuple):
    """How many consumers fit on some hosts. The limit of the question bounds all numbers."""

    # Consumers that certainly fit.
    fits: int
    # Number of consumers that no placement can exceed.
    at_most: int
    # Whether all hosts were measured.
    complete: bool
    # Number of hosts that serve at least one consumer.
    hosts: int
    # Maximum number of consumers on one host. Each host is considered alone.
    largest: int

    @property
    def exact(self) -> bool:
        """Whether both bounds are equal."""
        return self.fits == self.at_most


class Headroom(NamedTuple):
    """The result for a question."""

    # The figures for all hosts.
    total: Figures
    # Aggregate, as written by the client -> the figures of the hosts whose root is in it.
    by: Mapping[str, Figures]
    # The hosts by their limit, most hosts first.
    limited_by: Sequence[LimitedHosts]
