"""The conditions of requests. There is a class for each condition.

A class contains what the search, the filter of the database, the list of providers and explanations
need to know of its condition. `api.candidate_requests.terms` parses it, `db.conditions` has its
SQL, and `foresight.explanation.words.codes` its sentence.
"""

from collections.abc import Iterable
from typing import TypeVar

from placement.candidates.terms.aggregates import MemberOf, NotMemberOf
from placement.candidates.terms.amounts import (
    AMOUNT_CODES,
    AMOUNT_KEYWORD,
    STOCK_CONDITIONS,
    Amount,
    has_near,
)
from placement.candidates.terms.base import PlaceTerm, RootRole, StatedValue, Term
from placement.candidates.terms.checks import Masks, TermChecks, bits, each_mask, lowest, meeting
from placement.candidates.terms.traits import ForbiddenTrait, RequiredTraits, Untainted
from placement.candidates.terms.trees import InSubtree, InTree

T = TypeVar("T", bound=Term)

# Terms of a group, in the order of evaluation.
GROUP_TERMS: tuple[type[Term], ...] = (
    RequiredTraits,
    ForbiddenTrait,
    MemberOf,
    NotMemberOf,
    InTree,
    InSubtree,
)
ROOT_TERMS: tuple[type[Term], ...] = (RequiredTraits, ForbiddenTrait, MemberOf, NotMemberOf)

_ORDER = {kind: number for number, kind in enumerate(GROUP_TERMS)}


def ordered(terms: Iterable[Term]) -> tuple[Term, ...]:
    """Return the distinct terms in the order of evaluation.

    Terms of one class that contain a single name are sorted by this name. Other terms keep their
    order.
    """
    return tuple(sorted(dict.fromkeys(terms), key=_order))


def _order(term: Term) -> tuple[int, str]:
    stated = term.stated
    return _ORDER[type(term)], stated if isinstance(stated, str) else ""


def of_kind(terms: Iterable[Term], kind: type[T]) -> tuple[T, ...]:
    """Return the terms of one class."""
    return tuple(term for term in terms if isinstance(term, kind))
