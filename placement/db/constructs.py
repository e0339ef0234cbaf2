"""SQL that each engine spells in its own way."""

from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy.ext.compiler import compiles

from placement.db.dialects import DIALECTS, dialect_named

Rows = TypeVar("Rows", bound=sa.Select[*tuple[Any, ...]])


class _UnlessPresent(sa.Insert):
    """An INSERT that leaves out rows whose unique key is taken."""

    inherit_cache = False


@compiles(_UnlessPresent)
def _insert(statement: sa.Insert, compiler: Any, **options: Any) -> str:
    dialect = dialect_named(compiler.dialect.name)
    return f"{compiler.visit_insert(statement, **options)} {dialect.unless_present}"


def insert_unless_present(table: sa.Table) -> sa.Insert:
    """Begin an INSERT of several rows that leaves out those whose unique key is taken."""
    return _UnlessPresent(table)


def in_written_order(rows: Rows) -> Rows:
    """Have tables joined in the order of FROM where the engine would begin elsewhere.

    MySQL and MariaDB do, for they do not know how many rows a derived table will have.
    """
    for dialect in DIALECTS:
        if dialect.in_written_order:
            for name in dialect.names:
                rows = rows.prefix_with(dialect.in_written_order, dialect=name)
    return rows
