"""Values that affect the plan are literals, because engines cache a plan for each text."""

import pytest
import sqlalchemy as sa
from sqlalchemy.sql.compiler import SQLCompiler

from placement.db.statement import Query
from placement.db.statements import provider_list, roots, sharing
from tests.db.examples import ARGUMENTS, VARIANTS
from tests.db.snapshots import ENGINES

CHOSEN_BY_NUMBERS = {
    "provider_list.listed": provider_list.listed,
    "provider_list.page": provider_list.page,
    "provider_list.revisions": provider_list.revisions,
    "roots.driven_roots": roots.driven_roots,
    "sharing.reached_sets": sharing.reached_sets,
}


def queries(name: str) -> list[Query]:
    examples = VARIANTS[name].values() if name in VARIANTS else [ARGUMENTS[name]]
    return [CHOSEN_BY_NUMBERS[name](*arguments) for arguments in examples]  # type: ignore[operator]


@pytest.mark.parametrize("name", CHOSEN_BY_NUMBERS)
def test_the_numbers_of_a_condition_stand_in_the_text(name: str) -> None:
    for query in queries(name):
        compiled = query.sql.compile(dialect=ENGINES["postgresql"])
        assert isinstance(compiled, SQLCompiler)
        assert compiled.binds
        numbers = {
            bind.key
            for bind in compiled.binds.values()
            if isinstance(bind.type, sa.Integer) and bind not in compiled.literal_execute_params
        }
        assert numbers <= {"after", "size"}
