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
