"""What SQLAlchemy has no public function for, or tells only those who write types and dialects."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Dialect
from sqlalchemy.sql.compiler import SQLCompiler


class Expanded(NamedTuple):
    """A compiled statement, whose lists of parameters have become a parameter for each value."""

    # As the driver gets it.
    sql: str
    # Parameter -> value, of all of them.
    parameters: Mapping[str, Any]
    # Parameter that is a list -> the parameters of its values.
    lists: Mapping[str, Sequence[str]]
    # Parameter -> the function that its value passes on the way to the driver; none: as it is.
    converters: Mapping[str, Callable[[Any], Any]]
    # All parameters in order, for a driver that takes a sequence; else None.
    order: Sequence[str] | None


def connect(engine: sa.Engine, *, begins: bool) -> Connection:
    """Take a connection of which a statement begins a transaction by itself only if `begins`.

    The public way is the isolation level AUTOCOMMIT, which is set and reset for each use of a
    connection: more round trips than are saved.
    """
    return Connection(engine, _allow_autobegin=begins)


def expand(dialect: Dialect, statement: sa.ClauseElement, params: Mapping[str, Any]) -> Expanded:
    """Compile a statement for these parameters; lists in them have the lengths of these."""
    compiled = statement.compile(dialect=dialect, column_keys=list(params))
    assert isinstance(compiled, SQLCompiler)
    state = compiled.construct_expanded_state(dict(params))
    lists = state.parameter_expansion
    converters: dict[str, Callable[[Any], Any]] = {}
    for bound, param in compiled.bind_names.items():
        convert = bound.type.dialect_impl(dialect).bind_processor(dialect)
        if convert is not None:
            converters |= dict.fromkeys(lists.get(param, [param]), convert)
    return Expanded(state.statement, state.parameters, lists, converters, state.positiontup)


def count_parameters(compiled: sa.Compiled) -> int:
    """Return how many parameters a compiled statement has; none for DDL."""
    return len(getattr(compiled, "bind_names", ()))
