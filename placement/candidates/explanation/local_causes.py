"""The causes of a rejection by terms that providers of the host's own tree fail."""

from collections.abc import Sequence
from functools import reduce
from operator import and_, or_

from placement.candidates.explanation.evaluation import RejectionCause
from placement.candidates.explanation.manners import Manner
from placement.candidates.requirements import Requirement
from placement.candidates.stated_terms import StatedTerm
from placement.candidates.terms import lowest
from placement.candidates.terms.amounts import Amount


def find_local_causes(
    requirement: Requirement, local: Sequence[int], failed_bits: int
) -> list[RejectionCause]:
    """Return a cause for the terms that no provider of a host satisfies, and one for the others.

    Args:
        requirement: The terms of the slot.
        local: The masks of the providers in the host's own tree.
        failed_bits: The bits of the terms that cause the rejection.
    """
    nowhere = failed_bits & reduce(and_, local)
    causes = [RejectionCause(requirement.terms_of(nowhere))] if nowhere else []
    somewhere = failed_bits & ~nowhere
    if somewhere:
        meeting = [mask for mask in local if somewhere & ~mask]
        cause = elsewhere(requirement, meeting, somewhere)
        # The root comes first.
        is_on_root = len(meeting) == 1 and not local[0] & somewhere
        if is_on_root and not somewhere & ~requirement.traits and _is_bare(cause):
            cause = cause._replace(manner=Manner.ON_ROOT)
        causes.append(cause)
    return causes


def _is_bare(cause: RejectionCause) -> bool:
    """Return whether the providers that satisfy the terms have none of the classes."""
    return bool(cause.amounts) and not any(each.units for each in cause.amounts)


def elsewhere(requirement: Requirement, meeting: Sequence[int], failed_bits: int) -> RejectionCause:
    """Return the cause for terms that only unsuitable providers of a host satisfy.

    Args:
        requirement: The terms of the slot.
        meeting: The masks of the unsuitable providers.
        failed_bits: The bits of the terms that cause the rejection.
    """
    amounts: tuple[Amount, ...] = ()
    others: tuple[StatedTerm, ...] = ()
    if any(mask & requirement.stock for mask in meeting):
        missing = reduce(and_, meeting) & requirement.missing
        is_bare = missing == requirement.missing
        amounts = requirement.amounts
        if is_bare:
            amounts = tuple(amount._replace(units=0) for amount in amounts)
    if not all(mask & requirement.stock for mask in meeting):
        with_room = [mask & requirement.hard for mask in meeting if not mask & requirement.stock]
        others = requirement.terms_of(reduce(or_, map(lowest, with_room)))
    terms = requirement.terms_of(failed_bits)
    return RejectionCause(terms, amounts, Manner.ELSEWHERE, others=others)
