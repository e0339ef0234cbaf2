"""The fields of the forms in the tables of reasons and special cases, with their values."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from placement.candidates.explanation.context import Context, label
from placement.candidates.explanation.evaluation import Extreme
from placement.candidates.explanation.joining_fields import JOINING_FIELDS
from placement.candidates.explanation.nouns import (
    MAX_TERMS,
    for_group,
    group_of,
    is_forbidden,
    joined,
    listed,
    noun_of,
    value_of,
)
from placement.candidates.explanation.terms import StatedTerm
from placement.candidates.terms.amounts import Amount
from placement.candidates.trace import Form


def fill(form: Form, context: Context) -> str:
    """Fill in all fields of a form."""
    items = [form.item.format_map(_ItemFields(context, item)) for item in _items(context)]
    return form.frame.format_map(_Fields(context, joined(items, form.between)))


def fill_asked(text: str, context: Context) -> str:
    """Fill in the fields of a text without items."""
    return text.format_map(_Fields(context, ""))


class _Fields(dict[str, str]):
    def __init__(self, context: Context, items: str) -> None:
        super().__init__(items=items)
        self._context = context

    def __missing__(self, name: str) -> str:
        return FIELDS[name](self._context)


class _ItemFields(dict[str, str]):
    def __init__(self, context: Context, item: Any) -> None:
        super().__init__()
        self._context = context
        self._item = item

    def __missing__(self, name: str) -> str:
        return ITEM_FIELDS[name](self._context, self._item)


def _items(context: Context) -> Sequence[StatedTerm | Amount]:
    """Return the terms of a cause, or its sums, or only the sums that exceed the capacity."""
    cause = context.cause
    if cause.terms:
        return cause.terms
    known = context.extremes
    short = [each for each in cause.amounts if known.get(each[0], (0,))[0] < each[1]]
    return short or cause.amounts


# -- for one term or one sum -------------------------------------------------------------------


def _extreme(context: Context, item: StatedTerm | Amount) -> Extreme:
    name = item.resource_class
    return context.extremes.get(name, Extreme(0))


def _is_short(context: Context, amount: Amount) -> bool:
    return _extreme(context, amount).value < amount.units


def _value(_context: Context, item: StatedTerm | Amount) -> str:
    return _amount(item) if isinstance(item, Amount) else value_of(item) + _gone(item)


def _amount(amount: Amount) -> str:
    return f"{amount.units} {amount.resource_class}"


def _gone(term: StatedTerm) -> str:
    return ", which does not exist" if term.unknown else ""


def _tree(context: Context, term: StatedTerm) -> str:
    if term in context.own:
        return "its tree"
    return f"the tree of {_place(context, term)}"


def _place(context: Context, term: StatedTerm) -> str:
    return label(context.names, str(term.value)) + _gone(term)


def _advice(context: Context, item: StatedTerm) -> str:
    following = _extreme(context, item).next
    if following is None:
        return ""
    return f", so {following} would fit"


def _scattered(context: Context, amount: Amount) -> str:
    return "" if _is_short(context, amount) else " on several providers"


def _in_parts(context: Context, amount: Amount) -> str:
    most = "" if context.hosts == 1 else "at most "
    free = f" ({most}{_extreme(context, amount).value} free in all)"
    return " in parts" + free * _is_short(context, amount)


# Name of a replacement field in the text of an item -> the function that returns its value.
ITEM_FIELDS: Mapping[str, Callable[[Context, Any], str]] = {
    "value": _value,
    "noun": lambda _context, term: noun_of(term) + _gone(term),
    "name": lambda _context, term: term.resource_class,
    "there": lambda context, item: str(_extreme(context, item).value),
    "most": lambda context, _item: "" if context.hosts == 1 else "at most ",
    "advice": _advice,
    "tree": _tree,
    "place": _place,
    "within": lambda _context, term: "in the forbidden" if is_forbidden(term) else "not in",
    "scattered": _scattered,
    "in_parts": _in_parts,
}


# -- for hosts ---------------------------------------------------------------------------------


def _group(context: Context) -> str:
    terms = context.cause.terms
    return for_group(terms[0], context.several) if terms else ""


def _requires(context: Context) -> str:
    terms = context.cause.terms
    is_clear = not context.several or not terms or terms[0].suffix is None
    return "" if is_clear else f", which {group_of(terms[0])} requires"


def _room(context: Context) -> str:
    return f"room for {joined([_amount(each) for each in context.cause.amounts], ' and ')}"


def _only(context: Context) -> str:
    """Return the start of a phrase about suitable providers. The fault of the providers follows."""
    return f"{_room(context)} only on providers" if context.cause.amounts else "only providers"


def _unfit(context: Context) -> str:
    """Return why providers that satisfy the terms cannot serve the group."""
    terms, amounts = context.cause.terms, context.cause.amounts
    if not amounts:
        return "that fail another condition"
    if not any(each.units for each in amounts):
        return f"without {joined([each.resource_class for each in amounts], ' or ')}"
    last = " and " if terms[0].suffix else " or "
    room = [_amount(each) if each.units else each.resource_class for each in amounts]
    return f"without room for {joined(room, last)}"


def _only_pools(context: Context) -> str:
    names = [context.names.get(uuid, uuid) for uuid in context.sharing]
    plural = "s" * (len(names) > 1)
    return f"{_room(context)} only on the sharing provider{plural} {listed(names, most=MAX_TERMS)}"


def _which(one: str, several: str) -> Callable[[Context], str]:
    return lambda context: f"which {one if len(context.sharing) == 1 else several}"


def _have(one: str, several: str) -> Callable[[Context], str]:
    return lambda context: one if context.hosts == 1 else several


# Name of a replacement field in `Form.frame` -> the function that returns its value.
FIELDS: Mapping[str, Callable[[Context], str]] = {
    "have": _have("has", "have"),
    "are": _have("is", "are"),
    "group": _group,
    "requires": _requires,
    "only": _only,
    "unfit": _unfit,
    "only_pools": _only_pools,
    "which_have": _which("has", "have"),
    "which_are": _which("is", "are"),
    **JOINING_FIELDS,
}
