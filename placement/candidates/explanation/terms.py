"""The terms of a request as an explanation names them: each with the reason to fall out there."""

from collections.abc import Iterable
from typing import NamedTuple

from placement.candidates.request import RequestGroup, SubtreeRule
from placement.candidates.terms import StatedValue, Term
from placement.candidates.terms.amounts import AMOUNT_CODES, AMOUNT_KEYWORD, Amount
from placement.candidates.trace import Refusal


class StatedTerm(NamedTuple):
    """A single condition of a request, at one code."""

    code: Refusal
    # The member of the JSON form that states it.
    keyword: str
    # Its group; None for the root and for what joins groups.
    suffix: str | None
    # As the client stated it.
    value: StatedValue | Amount | SubtreeRule
    # Its names were looked up, and none of them exists.
    unknown: bool = False

    @property
    def resource_class(self) -> str:
        """The class whose amount it asks for; empty where it asks for something else."""
        return self.value.resource_class if isinstance(self.value, Amount) else ""

    @property
    def amount(self) -> int | None:
        """The units of the class that it asks for; None where it asks for something else."""
        return self.value.units if isinstance(self.value, Amount) else None


def of_group(group: RequestGroup) -> list[StatedTerm]:
    """Return what the group asks of a provider besides resources."""
    return [
        StatedTerm(term.code, term.keyword, group.suffix, term.stated, term.is_unknown)
        for term in group.terms
    ]


def of_root(terms: Iterable[Term]) -> list[StatedTerm]:
    """Return what is asked of the root."""
    return [
        StatedTerm(
            term.root_code,
            f"{term.root_prefix}{term.keyword}",
            None,
            term.stated,
            term.is_unknown,
        )
        for term in terms
    ]


def of_amounts(suffix: str, resources: Iterable[tuple[str, int]]) -> list[StatedTerm]:
    """Return what a group asks of inventories: by the codes, of each all classes."""
    amounts = [Amount(name, units) for name, units in resources]
    return [
        StatedTerm(code, AMOUNT_KEYWORD, suffix, amount)
        for code in AMOUNT_CODES
        for amount in amounts
    ]
