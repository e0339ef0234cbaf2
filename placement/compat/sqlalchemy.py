"""Access to SQLAlchemy where its function is not public or is documented only for dialects."""

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Dialect
from sqlalchemy.sql.compiler import SQLCompiler


class Expanded(NamedTuple):
    """A compiled statement in which each value of a list has a separate parameter."""

    # SQL in the form that the driver expects.
    sql: str
    # Parameter -> value, including literal values of the statement.
    parameters: Mapping[str, Any]
    # Parameter whose value is a list -> the parameters of its items.
    lists: Mapping[str, Sequence[str]]
    # Parameter -> the function that converts its value for the driver, if there is one.
    converters: Mapping[str, Callable[[Any], Any]]
    # Parameters whose values are part of the text.
    inlined: AbstractSet[str]
    # All parameters in order, if the driver takes a sequence. Otherwise None.
    order: Sequence[str] | None


class DriverResult(NamedTuple):
    # Rows of the driver, or empty if the statement returns no rows.
    rows: Sequence[Sequence[Any]]
    # Number of rows that a write matched, or -1 if the driver does not report it.
    matched: int
    # Id of the inserted row. None if the driver returns it as a row, or does not know it.
    row_id: int | None


def connect(engine: sa.Engine, *, begins: bool) -> Connection:
    """Check a connection out of the pool. `begins`: the first statement begins a transaction.

    `begins` is whether the first statement begins a transaction. The public alternative is the
    isolation level AUTOCOMMIT. SQLAlchemy sets and resets it for each use of a connection, which
    takes more round trips than it saves.
    """
    return Connection(engine, _allow_autobegin=begins)


def execute_text(conn: Connection, sql: str, values: Any) -> DriverResult:
    """Execute a statement as text. Errors are the same as with `exec_driver_sql`.

    PERF: `exec_driver_sql` creates a context, a result and a description of the columns for each
    statement. Without them, a small statement takes half as long. If listeners or the debug log
    must see a statement, `exec_driver_sql` executes it.
    """
    if conn._has_events or conn._echo or _has_listeners(conn.engine):
        observed = conn.exec_driver_sql(sql, values)
        # Read the number first. Reading the last row closes the cursor, and psycopg then forgets
        # the number.
        matched = observed.rowcount
        rows = observed.all() if observed.returns_rows else ()
        row_id = getattr(observed.context.cursor, "lastrowid", None)
        return DriverResult(rows, matched, row_id)
    if conn._transaction is None:
        conn._autobegin()
    return _send(conn, sql, values, sql, values)


def note_commit(conn: Connection) -> None:
    """Note that a statement has committed the transaction of a connection."""
    transaction = conn._transaction
    assert transaction is not None
    transaction._deactivate_from_connection()
    conn._transaction = None


def execute_command(conn: Connection, command: str, values: Any, statement: str) -> None:
    """Execute a command that precedes a statement. Listeners and the debug log do not see it.

    Errors are the same as with `exec_driver_sql`, but have the text of the statement.
    """
    _send(conn, command, values, statement, None)


def _send(
    conn: Connection, sql: str, values: Any, stated_sql: str, stated_values: Any
) -> DriverResult:
    cursor = conn.connection.cursor()
    try:
        cursor.execute(sql, values)
        rows = () if cursor.description is None else cursor.fetchall()
        result = DriverResult(rows, cursor.rowcount, getattr(cursor, "lastrowid", None))
        cursor.close()
    except BaseException as error:
        # Other exceptions are about the values and do not affect the connection.
        if isinstance(error, conn.dialect.loaded_dbapi.Error) or not isinstance(error, Exception):
            conn._handle_dbapi_exception(error, stated_sql, stated_values, cursor, None)
        raise
    return result


def _has_listeners(engine: sa.Engine) -> bool:
    dispatch = engine.dispatch
    return bool(
        dispatch.before_cursor_execute
        or dispatch.after_cursor_execute
        or engine.dialect.dispatch.do_execute
    )


def expand(dialect: Dialect, statement: sa.ClauseElement, params: Mapping[str, Any]) -> Expanded:
    """Compile a statement for lists of the lengths in `params`."""
    compiled = statement.compile(dialect=dialect, column_keys=list(params))
    assert isinstance(compiled, SQLCompiler)
    state = compiled.construct_expanded_state(dict(params))
    lists = state.parameter_expansion
    converters: dict[str, Callable[[Any], Any]] = {}
    for bound, param in compiled.bind_names.items():
        convert = bound.type.dialect_impl(dialect).bind_processor(dialect)
        if convert is not None:
            converters |= dict.fromkeys(lists.get(param, [param]), convert)
    inlined = {compiled.bind_names[bound] for bound in compiled.literal_execute_params}
    return Expanded(
        state.statement, state.parameters, lists, converters, inlined, state.positiontup
    )


def count_parameters(compiled: sa.Compiled) -> int:
    """Return the number of parameters of a compiled statement, or 0 for DDL."""
    return len(getattr(compiled, "bind_names", ()))
