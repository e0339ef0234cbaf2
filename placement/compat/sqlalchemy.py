"""What SQLAlchemy has no public function for, or documents for authors of dialects only."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Dialect
from sqlalchemy.sql.compiler import SQLCompiler


class Expanded(NamedTuple):
    """A compiled statement with one parameter for each value of a list."""

    # As the driver gets it.
    sql: str
    # Parameter -> value, those that the statement itself has included.
    parameters: Mapping[str, Any]
    # Parameter that is a list -> the parameters of its values.
    lists: Mapping[str, Sequence[str]]
    # Parameter -> the function that converts its value for the driver; none where it needs none.
    converters: Mapping[str, Callable[[Any], Any]]
    # All parameters in order, for a driver that takes a sequence; else None.
    order: Sequence[str] | None


def connect(engine: sa.Engine, *, begins: bool) -> Connection:
    """Take a connection from the pool.

    begins: whether the first statement begins a transaction. The public way to turn that off is
    the isolation level AUTOCOMMIT, which is set and reset for each use of a connection: more round
    trips than are saved.
    """
    return Connection(engine, _allow_autobegin=begins)


def expand(dialect: Dialect, statement: sa.ClauseElement, params: Mapping[str, Any]) -> Expanded:
    """Compile a statement for parameters with lists of these lengths."""
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
