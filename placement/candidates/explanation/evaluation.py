"""The result of the evaluation of a host, which all hosts of one class share."""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from placement.candidates.explanation.causes import Rejection, RejectionCause, SharingFault
from placement.candidates.explanation.extremes import Measure
from placement.candidates.stated_terms import StatedTerm
from placement.candidates.terms import Masks
from placement.candidates.trace import Refusal

ORDER = {code: index for index, code in enumerate(Refusal)}


class SlotRejection(NamedTuple):
    """The code at which a slot loses its last provider on a host."""

    # The first check that rejects all remaining providers.
    code: Refusal
    # Index of the slot.
    slot: int
    # The bits of the terms that cause the rejection.
    failed_bits: int
    # The bit of the last term at which a provider is rejected.
    last: int
    # Triples (position, mask, bit of the first failed term) of the providers that are rejected at
    # the code.
    at_code: Sequence[tuple[int, int, int]]


class Shortage(NamedTuple):
    """An amount that may be the only reason why a host cannot serve the request."""

    # Index of the slot.
    slot: int
    # Index of the class within the resources of the slot.
    resource_index: int
    # Name of the class.
    resource_class: str
    # Units that the slot requests.
    amount: int
    # Positions of the providers that would serve the slot if the slot requested less of the class.
    providers: Sequence[int]


@dataclass(slots=True, eq=False)
class Evaluation:
    """The result for all hosts of one class."""

    # All rejections of one group at one code. Empty if the hosts are served.
    rejections: Sequence[Rejection] = ()
    # Suffix -> the rejections of the group. Contains only groups that no provider can serve.
    by_group: dict[str, Sequence[Rejection]] = field(default_factory=dict)
    # Indexes of the relaxations that would make the hosts serve the request.
    gains: tuple[int, ...] = ()
    # The masks of the distinct slots.
    masks: tuple[Masks, ...] = ()
    # Positions of the providers that can serve each slot, even if another slot has no provider.
    options: Sequence[Sequence[int]] = ()
    # Whether the limit on work left the host or a relaxation without a result.
    undecided: bool = False
    # Whether the root fails a term.
    root_refused: bool = False
    # The rejections that the text states instead: those behind a taint, if the host would not serve
    # the request without the taint, or the traits that no provider has, before amounts. Otherwise
    # empty.
    instead: Sequence[Rejection] = ()
    # Indexes of the relaxations that would make tainted hosts serve the request, each with the
    # index of the relaxation that tolerates their only taint.
    gains_with_taint: tuple[tuple[int, int], ...] = ()
    # The terms that name a tree, subtree or aggregate in which the host has no provider.
    outside: tuple[StatedTerm, ...] = ()
    # Number of hosts of the class.
    hosts: int = 0
    # Number of these hosts that the text mentions apart from other hosts.
    mentioned_apart: int = 0
    # What the hosts lack, as bits of `Features`.
    lacking: int = 0
    # UUIDs of some hosts.
    examples: list[str] = field(default_factory=list)
    # The extremes to collect from the inventories of the hosts.
    measures: Sequence[Measure] = ()
    # Cause -> UUIDs of the sharing providers that the text names, with their faults.
    sharing: dict[RejectionCause, dict[str, SharingFault | None]] = field(default_factory=dict)
    # The traits of the providers for which a group is missing in a rule, on all hosts, or
    # None if there are no such providers.
    parent_traits: frozenset[str] | None = None
    # Whether `variants` contains the counts of the hosts. This is the case if the groups fit only
    # separately.
    has_variants: bool = False
    # Key of `SumCauses` -> the evaluation with the cause.
    variants: dict[Hashable, "Evaluation"] = field(default_factory=dict)
    # Cache of `Reductions` for the amounts that alone may be the cause, or None before its first
    # use.
    shortages: list[Shortage] | None = None
    # Cache of `Reductions`: whether a smaller amount would make the hosts serve the request.
    answers: dict[Hashable, bool] = field(default_factory=dict)

    @property
    def stated(self) -> Sequence[Rejection]:
        """The rejections that the text states."""
        return self.instead or self.rejections

    @property
    def all_rejections(self) -> Sequence[Rejection]:
        """The rejections of responses, and those that only the text states."""
        return (*self.rejections, *self.instead)

    def variant(self, rejection: Rejection) -> "Evaluation":
        """Return a copy that states the given rejection. The copy does not count any hosts."""
        variant = replace(self, hosts=0, mentioned_apart=0, examples=[], sharing={}, variants={})
        variant.shortages, variant.answers, variant.has_variants = None, {}, False
        if self.instead:
            variant.instead = (rejection,)
        else:
            variant.rejections = (rejection,)
        return variant


class HostClass(NamedTuple):
    """The data that the evaluation of a host reads. Hosts of one class have equal results."""

    # The bits of the root terms that the root fails.
    root: int
    # The masks of the distinct slots. Empty if the root alone determines the result.
    masks: tuple[Masks, ...] = ()
    # The signatures of the constraints that join slots.
    joined: tuple[Hashable, ...] = ()
    # Number of sharing providers that the host reaches.
    reached: int = 0
    # For each distinct slot, the bits of the terms that every provider fails. Empty if `masks` has
    # them.
    lacking: tuple[int, ...] = ()


def first_rejection(rejections: Iterable[Rejection | None]) -> Rejection | None:
    """Return the rejection with the first code, or None if there are no rejections."""
    return min(
        (rejection for rejection in rejections if rejection is not None),
        key=lambda rejection: ORDER[rejection.code],
        default=None,
    )
