"""Why the last provider of a slot is rejected on a host."""

from collections.abc import Sequence
from functools import reduce
from operator import and_, or_

from placement.candidates.explanation.causes import Rejection, RejectionCause, SpecialCase
from placement.candidates.explanation.evaluation import SlotRejection
from placement.candidates.explanation.slot_fit import NamedProviders, SlotFit
from placement.candidates.requirements import Requirement
from placement.candidates.stated_terms import StatedTerm
from placement.candidates.terms import lowest
from placement.candidates.terms.amounts import Amount
from placement.candidates.trace import Refusal


def explain_slot(fit: SlotFit, found: SlotRejection) -> Sequence[Rejection]:
    """Return the rejections of a slot, one for each cause.

    Args:
        fit: The masks of the slot.
        found: Its last rejection.
    """
    requirement = fit.requirement
    code, slot, failed_bits, last, at_code = found
    rejection = Rejection(
        code,
        requirement.term(last).suffix,
        RejectionCause(),
        slot,
        tuple(dict.fromkeys(position for position, _mask, bit in at_code if bit == last)),
        tuple(dict.fromkeys(position for position, _mask, _bit in at_code)),
    )
    common = failed_bits & reduce(and_, [mask for _position, mask, _bit in at_code])
    if last & requirement.stock:
        return (_reject_amounts(fit, rejection, failed_bits, common),)
    causes, sharing = _find_causes(fit, failed_bits, common)
    return [rejection._replace(cause=cause, sharing=sharing) for cause in causes]


def _reject_amounts(fit: SlotFit, rejection: Rejection, failed_bits: int, common: int) -> Rejection:
    """Return the rejection of a slot by amounts, with its cause.

    Args:
        fit: The masks of the slot.
        rejection: The rejection without its cause.
        failed_bits: The bits of the amounts that cause the rejection.
        common: The bits among them that all providers at the code fail.
    """
    requirement, local = fit.requirement, fit.pool.local
    terms = requirement.terms_of(failed_bits)
    # APART: no single amount fails on all providers at the code.
    case = None if common else SpecialCase.APART
    if rejection.code is Refusal.NO_INVENTORY:
        return rejection._replace(cause=RejectionCause(terms, case=case))
    stocked = dict(pair for pair in fit.pairs if not pair[1] & requirement.missing)
    own = [position for position in stocked if position < local]
    # Sharing providers that could not serve the group with more room are left out.
    pools = [position for position in stocked if position >= local]
    other_terms = requirement.hard & ~requirement.stock
    suitable = [position for position in pools if not stocked[position] & other_terms]
    sharing = fit.named(suitable or pools)
    amounts = requirement.amounts
    if sharing:
        case = SpecialCase.WITH_POOLS if own else SpecialCase.POOLS
    elif _is_disproved(fit, rejection, failed_bits):
        case = SpecialCase.ROOM
    else:
        amounts = ()
    cause = RejectionCause(terms, amounts, case)
    # Without a special case, each inventory of the class counts, even if an earlier check rejects
    # its provider.
    measured = own if amounts else range(len(fit.pool.members))
    return rejection._replace(cause=cause, at_code=measured, sharing=sharing)


def _is_disproved(fit: SlotFit, rejection: Rejection, failed_bits: int) -> bool:
    """Return whether a provider that an earlier check rejects may meet one of the amounts.

    In this case, no sentence may state that no provider meets it.
    """
    names = {term.resource_class for term in fit.requirement.terms_of(failed_bits)}
    # The bit of free capacity is set if any check of the inventory fails.
    is_unknown = rejection.code is Refusal.CAPACITY
    return any(
        (is_unknown or failed_bits & ~mask) and names & fit.pool.members[position].stocks.keys()
        for position, mask in fit.pairs
        if position not in rejection.at_code
    )


def _find_causes(
    fit: SlotFit, failed_bits: int, common: int
) -> tuple[Sequence[RejectionCause], NamedProviders]:
    """Return the causes of a rejection by terms other than amounts, one for each special case.

    Args:
        fit: The masks of the slot.
        failed_bits: The bits of the terms that cause the rejection.
        common: The bits among them that all providers at the code fail.

    Returns:
        The causes, and the sharing providers that the text names.
    """
    requirement = fit.requirement
    cause = RejectionCause(requirement.terms_of(failed_bits), requirement.amounts)
    with_room = [pair for pair in fit.pairs if not pair[1] & requirement.stock]
    all_fail = all(mask & failed_bits for _position, mask in with_room)
    pools = fit.unfit_pools(failed_bits)
    if pools:
        return [cause._replace(case=SpecialCase.POOLS)], pools
    # A host outside of the named tree is reported as such, even if it has enough capacity.
    is_outside = failed_bits & requirement.places and reduce(and_, fit.own) & failed_bits
    if all_fail and with_room[0][0] >= fit.pool.local and not is_outside:
        sharing = tuple((position, None) for position in dict(with_room))
        return [cause._replace(case=SpecialCase.SHARED)], sharing
    if failed_bits & requirement.excluding:
        return [cause._replace(case=None if all_fail else SpecialCase.ELSEWHERE)], ()
    if common:
        return find_local_causes(requirement, fit.own, failed_bits), ()
    meeting = [mask for mask in fit.own if not mask & failed_bits]
    if meeting:
        return [_elsewhere(requirement, meeting, failed_bits)], ()
    return [RejectionCause(cause.terms, case=SpecialCase.APART)], ()


def find_local_causes(
    requirement: Requirement, local: Sequence[int], failed_bits: int
) -> list[RejectionCause]:
    """Return a cause for the terms that no provider of a host satisfies, and one for the others.

    Args:
        requirement: The requirement of the slot.
        local: The masks of the providers in the host's own tree.
        failed_bits: The bits of the terms that cause the rejection.
    """
    nowhere = failed_bits & reduce(and_, local)
    causes = [RejectionCause(requirement.terms_of(nowhere))] if nowhere else []
    somewhere = failed_bits & ~nowhere
    if somewhere:
        meeting = [mask for mask in local if somewhere & ~mask]
        cause = _elsewhere(requirement, meeting, somewhere)
        # The root comes first.
        is_on_root = len(meeting) == 1 and not local[0] & somewhere
        if is_on_root and not somewhere & ~requirement.traits and _is_bare(cause):
            cause = cause._replace(case=SpecialCase.ON_ROOT)
        causes.append(cause)
    return causes


def _is_bare(cause: RejectionCause) -> bool:
    """Return whether the providers that satisfy the terms have none of the classes."""
    return bool(cause.amounts) and not any(each.units for each in cause.amounts)


def _elsewhere(
    requirement: Requirement, meeting: Sequence[int], failed_bits: int
) -> RejectionCause:
    """Return the cause for terms that only unsuitable providers of a host satisfy.

    Args:
        requirement: The requirement of the slot.
        meeting: The masks of the unsuitable providers.
        failed_bits: The bits of the terms that cause the rejection.
    """
    amounts: tuple[Amount, ...] = ()
    others: tuple[StatedTerm, ...] = ()
    with_room = [mask & requirement.hard for mask in meeting if not mask & requirement.stock]
    if len(with_room) < len(meeting):
        amounts = requirement.amounts
        missing = reduce(and_, meeting) & requirement.missing
        if missing == requirement.missing:
            amounts = tuple(amount._replace(units=0) for amount in amounts)
    if with_room:
        others = requirement.terms_of(reduce(or_, map(lowest, with_room)))
    terms = requirement.terms_of(failed_bits)
    return RejectionCause(terms, amounts, SpecialCase.ELSEWHERE, others=others)
