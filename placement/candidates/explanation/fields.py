"""The fields of the forms in the tables of reasons and special cases, with their values."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from placement.candidates.explanation.context import Context, label
from placement.candidates.explanation.evaluation import Extreme, SharingFault
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
from placement.candidates.stated_terms import StatedTerm
from placement.candidates.terms.amounts import Amount
from placement.candidates.trace import Form, Refusal


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
    return _extreme_of(context, item.resource_class)


def _extreme_of(context: Context, resource_class: str) -> Extreme:
    return context.extremes.get(resource_class, Extreme(0))


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
    return _following(_extreme(context, item).next)


def _largest(context: Context, term: StatedTerm) -> str:
    """Return the largest max_unit, and the most free units if they are too few as well."""
    extreme = _extreme(context, term)
    if extreme.free >= (term.amount or 0) or extreme.free == extreme.value:
        return f"the largest is {extreme.value}"
    return f"the largest max_unit is {extreme.value}, the most free is {extreme.free}"


def _following(amount: int | None) -> str:
    return "" if amount is None else f", so {amount} would fit"


def _scattered(context: Context, amount: Amount) -> str:
    # Further units may be free on providers that can serve none of the groups.
    return f" on {'suitable' if _is_short(context, amount) else 'several'} providers"


def _in_parts(context: Context, amount: Amount) -> str:
    if not _is_short(context, amount):
        return " in parts"
    extreme = _extreme(context, amount)
    parts = extreme.parts
    if parts is None or parts.max_unit is None:
        return f" in parts (at most {extreme.value} in all)"
    providers = "1 provider" if parts.providers == 1 else f"{parts.providers} providers"
    return f" in parts (at most {extreme.value}, from {providers} with max_unit {parts.max_unit})"


# Name of a replacement field in the text of an item -> the function that returns its value.
ITEM_FIELDS: Mapping[str, Callable[[Context, Any], str]] = {
    "value": _value,
    "noun": lambda _context, term: noun_of(term) + _gone(term),
    "name": lambda _context, term: term.resource_class,
    "there": lambda context, item: str(_extreme(context, item).value),
    "most": lambda context, _item: "" if context.hosts == 1 else "at most ",
    "advice": _advice,
    "largest": _largest,
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


def requires(context: Context, terms: Sequence[StatedTerm]) -> str:
    """Return which group states some terms, if this is not clear."""
    is_clear = not context.several or not terms or terms[0].suffix is None
    return "" if is_clear else f", which {group_of(terms[0])} requires"


def scope(context: Context, term: StatedTerm) -> str:
    """Return the tree, subtree or aggregate of a term."""
    if term.code is Refusal.NOT_IN_AGGREGATE:
        return f"{noun_of(term)}{_gone(term)}"
    subtree = "subtree" if term.code is Refusal.SUBTREE else "tree"
    return f"the {subtree} of {_place(context, term)}"


def _requires(context: Context) -> str:
    return requires(context, context.cause.terms)


def _room(context: Context) -> str:
    return f"room for {_amounts(context)}"


def _only(context: Context) -> str:
    """Return the start of a phrase about suitable providers. The fault of the providers follows."""
    return f"{_room(context)} only on providers" if context.cause.amounts else "only providers"


def _unfit(context: Context) -> str:
    """Return why providers that satisfy the terms cannot serve the group."""
    faults = [_without_room(context)] if context.cause.amounts else []
    faults += [_failing(context, term) for term in context.cause.others]
    return joined(faults, " or ")


def _failing(context: Context, term: StatedTerm) -> str:
    """Return the property of providers that fail a term, as a phrase that follows a noun."""
    if term.code is Refusal.TRAIT_MISSING:
        return f"without {noun_of(term)}"
    if term.code in (Refusal.TRAIT_FORBIDDEN, Refusal.IN_FORBIDDEN_AGGREGATE):
        preposition = "with" if term.code is Refusal.TRAIT_FORBIDDEN else "in"
        return f"{preposition} the forbidden {noun_of(term)}"
    return f"outside {scope(context, term)}"


def _without_room(context: Context) -> str:
    terms, amounts = context.cause.terms, context.cause.amounts
    if not any(each.units for each in amounts):
        return f"without {_classes(context)}"
    last = " and " if terms[0].suffix else " or "
    room = [_amount(each) if each.units else each.resource_class for each in amounts]
    return f"without room for {joined(room, last)}"


def _amounts(context: Context) -> str:
    return joined([_amount(each) for each in context.cause.amounts], " and ")


def _classes(context: Context) -> str:
    return joined([each.resource_class for each in context.cause.amounts], " or ")


def _pools(context: Context) -> str:
    names = [context.names.get(uuid, uuid) for uuid in sorted(context.sharing)]
    plural = "s" * (len(names) > 1)
    return f"the sharing provider{plural} {listed(names, most=MAX_TERMS)}"


def _faulty_pools(context: Context) -> str:
    """Return the sharing providers, each with the reason why it cannot serve the group."""
    names = [
        f"{context.names.get(uuid, uuid)} ({_fault(context, fault)})" if fault else uuid
        for uuid, fault in sorted(context.sharing.items())
    ]
    plural = "s" * (len(names) > 1)
    return f"the sharing provider{plural} {joined(names, ' and ', MAX_TERMS)}"


def _fault(context: Context, fault: SharingFault) -> str:
    term, value, following, free = fault
    if value is None:
        return _failing(context, term)
    if term.code is Refusal.CAPACITY or free is not None:
        return f"{value if free is None else free} {term.resource_class} free"
    return f"{term.code.value} {value} {term.resource_class}{_following(following)}"


def _largest_room(context: Context) -> int | None:
    """Return the largest amount that fits, or None if the group requests several classes."""
    if len(context.cause.amounts) > 1:
        return None
    return _extreme_of(context, context.cause.amounts[0].resource_class).value


def _most_room(context: Context) -> str:
    value = _largest_room(context)
    return "" if value is None else f" (the most is {value})"


def _own_room(context: Context) -> str:
    value, own = _largest_room(context), "its" if context.hosts == 1 else "their"
    if value is None:
        return f"neither on {own} own providers"
    most = "" if context.hosts == 1 else "at most "
    return f"{most}{value} of {own} own"


def _which(one: str, several: str) -> Callable[[Context], str]:
    return lambda context: f"which {one if len(context.sharing) == 1 else several}"


def _have(one: str, several: str) -> Callable[[Context], str]:
    return lambda context: one if context.hosts == 1 else several


def _out_by(context: Context) -> str:
    """Return the verb about taints. The text states a single taint only if it is the one reason."""
    if len(context.cause.terms) > 1:
        return "has" if context.hosts == 1 else "have"
    return f"{'is' if context.hosts == 1 else 'are'} kept out only by"


# Name of a replacement field in `Form.frame` -> the function that returns its value.
FIELDS: Mapping[str, Callable[[Context], str]] = {
    "have": _have("has", "have"),
    "are": _have("is", "are"),
    "out_by": _out_by,
    "group": _group,
    "requires": _requires,
    "only": _only,
    "unfit": _unfit,
    "room": _room,
    "amounts": _amounts,
    "classes": _classes,
    "pools": _pools,
    "faulty_pools": _faulty_pools,
    "most_room": _most_room,
    "own_room": _own_room,
    "which_have": _which("has", "have"),
    "which_are": _which("is", "are"),
    **JOINING_FIELDS,
}
