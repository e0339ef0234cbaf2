"""Statements of conditions whose form is the same."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from sqlalchemy.dialects import sqlite

from placement.db.conditions import (
    Driver,
    DrivingCondition,
    MemberCondition,
    ProviderCondition,
    RootCondition,
)
from placement.db.fragments import MAX_UNIT
from placement.db.statement import Query
from placement.db.statements import provider_list, roots, sharing
from placement.vocabulary import ConditionKind, IdCondition

# Function that returns the query of a condition that contains these ids or amounts.
Make = Callable[[int, int, int], Query]

DIALECT = sqlite.dialect()
NUMBERS = range(1, 40)


def terms(*ids: int) -> tuple[IdCondition, ...]:
    first, *alternatives = ids
    return (
        IdCondition(ConditionKind.ANY_TRAIT, frozenset([first])),
        IdCondition(ConditionKind.ANY_TRAIT, frozenset(alternatives)),
        IdCondition(ConditionKind.NO_AGGREGATE, frozenset(ids)),
    )


def member(*ids: int) -> MemberCondition:
    return MemberCondition(terms(*ids), ((ids[0], ids[1]),), parts_of=ids, reach=frozenset(ids))


def listed(*ids: int) -> ProviderCondition:
    return ProviderCondition(terms(*ids), f"host{ids}", frozenset(map(str, ids)), ((1, ids[0]),))


MAKERS: dict[str, Make] = {
    "driven_roots": lambda *ids: roots.driven_roots(
        ids[0], (DrivingCondition(member(*ids), Driver.TRAITS),)
    ),
    "listed": lambda *ids: provider_list.listed(listed(*ids)),
    "revisions": lambda *ids: provider_list.revisions(listed(*ids)),
    "page": lambda *ids: provider_list.page(listed(*ids), str(ids), ids[0]),
    "reached_sets": lambda *ids: sharing.reached_sets(ids, RootCondition(terms(*ids))),
}


def combinations() -> Iterator[tuple[int, int, int]]:
    for number in NUMBERS:
        yield number, 1000 + number * 7 % 50, 2000 + number * 3 % 50


@pytest.mark.parametrize("name", MAKERS)
def test_conditions_of_one_form_share_a_statement(name: str) -> None:
    assert len({id(MAKERS[name](*ids).sql) for ids in combinations()}) == 1


@pytest.mark.parametrize("name", MAKERS)
def test_the_parameters_contain_the_values_of_each_condition(name: str) -> None:
    for ids in combinations():
        query = MAKERS[name](*ids)
        compiled = query.sql.compile(dialect=DIALECT)
        values: set[Any] = set()
        for value in query.params.values():
            values.update(value if isinstance(value, list) else [value])
        assert values >= set(ids)
        # Every parameter of the statement has a value.
        stated = {bind.key for bind in compiled.binds.values() if bind.value is None}
        assert stated == query.params.keys()


def test_sets_of_up_to_a_power_of_two_share_a_statement() -> None:
    def queries(sizes: range) -> list[Query]:
        aggregates = [frozenset(range(1, size + 1)) for size in sizes]
        kind = ConditionKind.ANY_AGGREGATE
        return [
            provider_list.listed(ProviderCondition((IdCondition(kind, ids),))) for ids in aggregates
        ]

    assert len({id(query.sql) for query in queries(range(9, 17))}) == 1
    assert len({id(query.sql) for query in queries(range(1, 1001))}) == 11
    (param,) = queries(range(5, 6))[0].params.values()
    assert param == [1, 2, 3, 4, 5, 5, 5, 5]


def test_amounts_beyond_any_inventory_share_a_statement() -> None:
    queries = [
        provider_list.listed(ProviderCondition(resources=((1, amount),)))
        for amount in (MAX_UNIT + 1, MAX_UNIT + 2, 10**100)
    ]
    assert len({id(query.sql) for query in queries}) == 1
    assert "WHERE 0 = 1" in str(queries[0].sql.compile(dialect=DIALECT))


def test_the_items_of_long_lists_are_part_of_the_text() -> None:
    kind = ConditionKind.ANY_AGGREGATE
    for size in (64, 65):
        ids = IdCondition(kind, frozenset(range(size)))
        sql = provider_list.listed(ProviderCondition((ids,))).sql
        (slot,) = [bind for bind in sql.compile(dialect=DIALECT).binds.values() if bind.expanding]
        assert slot.literal_execute == (size > 64)
