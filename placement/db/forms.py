"""Statements that are built once for all conditions of the same form.

SQLAlchemy takes milliseconds to build the statement of a condition, and a statement uses about 60
KiB of memory, which only a full garbage collection releases. Requests contain any ids, names and
amounts, but their conditions have few forms. Therefore, a statement is built for a form, in which
slots replace the values, and each request supplies the values as parameters.
"""

import dataclasses
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy.sql import visitors

from placement.db.constructs import Planned
from placement.db.fragments import MAX_UNIT, Selection

# Maximum number of statements of one kind. Clouds use a few forms.
MAX_STATEMENTS = 64

# Maximum number of items of a list that are bound. Engines limit the number of parameters, so the
# items of longer lists become part of the text.
MAX_BOUND = 64


class NumberSlot(int):
    """The index of a value, in place of an id or an amount."""


class TextSlot(str):
    """The index of a value, in place of a text."""

    __slots__ = ()


class _Statement(NamedTuple):
    sql: Selection
    # Parameter -> the index of its value, or the indices of the values of a list.
    slots: dict[str, int | list[int]]


def by_form(build: Callable[..., Selection]) -> Callable[..., tuple[Selection, dict[str, Any]]]:
    """Decorate a function that builds a statement for a condition, and for further arguments.

    Returns:
        A function that returns the statement for the form of the condition, and the values of its
        parameters.
    """

    # PERF: schedulers repeat requests of a few forms.
    @lru_cache(maxsize=MAX_STATEMENTS)
    def built(form: Any, *further: Any) -> _Statement:
        return _bind(build(form, *further))

    def statement(condition: Any, *further: Any) -> tuple[Selection, dict[str, Any]]:
        values: list[Any] = []
        sql, slots = built(_form(condition, values), *further)
        params = {
            name: values[slot] if isinstance(slot, int) else [values[each] for each in slot]
            for name, slot in slots.items()
        }
        return sql, params

    return statement


def _form(condition: Any, values: list[Any]) -> Any:
    """Return a condition with slots instead of values, and append its values to the list."""
    match condition:
        case bool():
            return condition
        case int() if condition > MAX_UNIT:
            return MAX_UNIT + 1  # no inventory has room for it
        case int() | str():
            values.append(condition)
            index = len(values) - 1
            return NumberSlot(index) if isinstance(condition, int) else TextSlot(f"{index:06}")
        case frozenset():
            # Sets of several ids are alternatives. Their sizes are rounded up to powers of two, so
            # that they have few forms.
            ids = sorted(condition)
            size = 1 << (len(ids) - 1).bit_length() if ids else 0
            return frozenset(_form(each, values) for each in ids + ids[-1:] * (size - len(ids)))
        case tuple():
            parts = [_form(each, values) for each in condition]
            return type(condition)(*parts) if hasattr(condition, "_fields") else tuple(parts)
    if not dataclasses.is_dataclass(condition):
        return condition
    fields = [getattr(condition, field.name) for field in dataclasses.fields(condition)]
    return type(condition)(*[_form(each, values) for each in fields])  # type: ignore[misc]


def _bind(rows: Selection) -> _Statement:
    """Replace slots by parameters, and inline the other integers of a statement."""
    slots: dict[str, int | list[int]] = {}
    names: dict[str, str] = {}

    def replace(element: Any, **_options: Any) -> Any:
        if not isinstance(element, sa.BindParameter) or element.value is None:
            return None
        slot = _slot_of(element.value)
        if slot is not None:
            name = names.setdefault(repr(slot), f"slot_{len(names)}")
            slots[name] = slot
            kind = Planned if isinstance(element.type, sa.Integer) else sa.BindParameter
            items = len(slot) if isinstance(slot, list) else 0
            return kind(
                name, type_=element.type, expanding=items > 0, literal_execute=items > MAX_BOUND
            )
        if isinstance(element.type, sa.Integer):
            element.literal_execute = True
        return None

    sql: Any = visitors.replacement_traverse(rows, {}, replace)
    return _Statement(sql, slots)


def _slot_of(value: Any) -> int | list[int] | None:
    """Return the index or the indices in the value of a literal, or None if it has no slots."""
    if isinstance(value, NumberSlot | TextSlot):
        return int(value)
    if isinstance(value, Sequence) and value and isinstance(value[0], NumberSlot | TextSlot):
        return [int(each) for each in value]
    return None
