"""The code at which each group loses its last provider on a host, and the responsible terms."""

from collections.abc import Collection, Sequence
from functools import reduce
from operator import and_

from placement.candidates.explanation.causes import Rejection, RejectionCause, SpecialCase
from placement.candidates.explanation.evaluation import ORDER
from placement.candidates.explanation.explain_request import ExplainRequest
from placement.candidates.explanation.slot_causes import explain_slot, find_local_causes
from placement.candidates.explanation.slot_fit import SlotFit, missing_bits
from placement.candidates.model import Pool
from placement.candidates.stated_terms import StatedTerm
from placement.candidates.terms import Masks, lowest
from placement.candidates.trace import Refusal


class GroupRejections:
    """Finds the rejections of one host from the masks of its providers."""

    def __init__(self, explain_request: ExplainRequest, pool: Pool, masks: Sequence[Masks]) -> None:
        """Find nothing yet; `masks` has the masks of each distinct requirement."""
        # Terms of collective traits that no provider with enough capacity has.
        self._missing: Collection[StatedTerm] = ()
        # Suffix -> the slots of the group.
        self._groups = explain_request.groups
        # Slot -> its masks.
        self._fits = [
            SlotFit(slot, requirement, masks[index], pool)
            for slot, (requirement, index) in enumerate(
                zip(explain_request.requirements, explain_request.distinct_index, strict=True)
            )
        ]

    def misses_only(self, term: StatedTerm) -> bool:
        """Return whether no other collective trait is missing."""
        return {term}.issuperset(self._missing)

    def find_for_group(self, suffix: str) -> Sequence[Rejection]:
        """Return the rejections of a group at its first code, or nothing if the group is served."""
        fits = [self._fits[slot] for slot in self._groups[suffix]]
        found = [(fit, rejection) for fit in fits if (rejection := fit.rejection())]
        codes = [rejection.code for _fit, rejection in found]
        missing = missing_bits(fits) if fits[0].requirement.soft else 0
        if missing:
            self._missing = fits[0].requirement.terms_of(missing)
            codes.append(Refusal.TRAIT_MISSING)
        if not codes:
            return ()
        # PERF: the causes at later codes take most of the time and are not reported.
        first = min(codes, key=ORDER.__getitem__)
        rejections: list[Rejection] = []
        for fit, rejection in found:
            if rejection.code is first:
                rejections += explain_slot(fit, rejection)
        if missing and first is Refusal.TRAIT_MISSING:
            rejections += _explain_missing_traits(fits, missing)
        return rejections

    def find_for_own(self, rejection: Rejection) -> Sequence[Rejection]:
        """Return the rejection by terms that only sharing providers satisfy, or nothing.

        Args:
            rejection: The rejection of a slot by amounts that sharing providers lack as well.
        """
        fit = self._fits[rejection.slot]
        requirement = fit.requirement
        failed = reduce(and_, fit.own) & ~(requirement.stock | requirement.excluding)
        if not failed:
            return ()
        failed_bits = requirement.at_code(lowest(failed), failed)
        pools = fit.unfit_pools(failed_bits)
        slots = self._groups[requirement.group.suffix]
        others = [self._fits[slot].pools_meeting(failed_bits) for slot in slots]
        # Further sharing providers may have such terms for another slot of the group.
        if not pools or not set().union(*others) <= dict(pools).keys():
            return ()
        terms = requirement.terms_of(failed_bits)
        cause = RejectionCause(terms, requirement.amounts, SpecialCase.POOLS)
        return (Rejection(terms[0].code, terms[0].suffix, cause, fit.slot, sharing=pools),)


def _explain_missing_traits(fits: Sequence[SlotFit], missing: int) -> Sequence[Rejection]:
    """Return the rejections by collective traits that no provider with enough capacity has.

    Args:
        fits: The masks of the slots of the unsuffixed group. They differ in the amounts that are
            missing on a provider with the trait.
        missing: The bits of the traits.
    """
    terms = fits[0].requirement.terms_of(missing)
    suffix = terms[0].suffix
    for fit in fits:
        pools = fit.unfit_pools(missing)
        if pools:
            cause = RejectionCause(terms, fit.requirement.amounts, SpecialCase.POOLS)
            return [Rejection(Refusal.TRAIT_MISSING, suffix, cause, fit.slot, sharing=pools)]
    causes: list[RejectionCause] = []
    for fit in fits:
        local = fit.masks[: fit.pool.local]
        found = find_local_causes(fit.requirement, local, missing)
        # PERF: comparing a few causes is faster than hashing a cause with many terms.
        causes += [each for each in found if each not in causes]
    return [Rejection(Refusal.TRAIT_MISSING, suffix, cause, fits[0].slot) for cause in causes]
