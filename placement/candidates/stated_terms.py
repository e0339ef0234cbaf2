"""The terms of a request as explanations report them. Each term has the code of its rejections."""

from collections.abc import Iterable
from typing import NamedTuple

from placement.candidates.request import RequestGroup, SubtreeRule
from placement.candidates.terms import StatedValue, Term
from placement.candidates.terms.amounts import AMOUNT_CODES, AMOUNT_KEYWORD, Amount
from placement.candidates.trace import Refusal


class StatedTerm(NamedTuple):
    """A single condition of a request. It has one code."""

    # The code of rejections by the condition.
    code: Refusal
    # The member of the JSON form that contains the condition.
    keyword: str
    # Suffix of the group, or None for conditions on the root and conditions that join groups.
    suffix: str | None
    # The value in the request.
    value: StatedValue | Amount | SubtreeRule
    # Whether no name in the value exists.
    unknown: bool = False

    @property
    def resource_class(self) -> str:
        """The class of an amount, or empty for other terms."""
        return self.value.resource_class if isinstance(self.value, Amount) else ""

    @property
    def amount(self) -> int | None:
        """The units of an amount, or None for other terms."""
        return self.value.units if isinstance(self.value, Amount) else None


def terms_from_group(group: RequestGroup) -> list[StatedTerm]:
    """Return the terms of a group except amounts."""
    return [
        StatedTerm(term.code, term.keyword, group.suffix, term.stated, term.is_unknown)
        for term in group.terms
    ]


def terms_from_root(terms: Iterable[Term]) -> list[StatedTerm]:
    """Return the terms of a root."""
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


def terms_from_amounts(suffix: str, resources: Iterable[tuple[str, int]]) -> list[StatedTerm]:
    """Return the amounts of a group as terms, with all classes for each code of amounts."""
    amounts = [Amount(name, units) for name, units in resources]
    return [
        StatedTerm(code, AMOUNT_KEYWORD, suffix, amount)
        for code in AMOUNT_CODES
        for amount in amounts
    ]
