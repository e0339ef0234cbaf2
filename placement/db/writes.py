"""Writes that say how many rows they match.

A database may answer OK to a statement that it has not carried out: MariaDB does to one DELETE in
some twenty that are interrupted. So every write is a `Write`, which says what it must match, and
`carry_out` is the only way to execute one.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection, CursorResult

# For an INSERT, the rows cannot be had from the cursor later.
_OPTIONS = {"preserve_rowcount": True}


class Restart(Exception):
    """Raised inside a write: what it decided on has changed, begin again from a fresh look."""


class Unmatched(Restart):
    """A statement has not matched the rows that it must match."""


@dataclass(frozen=True, slots=True)
class Write:
    """A statement that writes, its parameters, and the number of rows that it must match.

    or_fewer: some rows may be there already; the caller reads afterwards what there is.
    """

    statement: sa.Insert | sa.Update | sa.Delete | sa.TextClause
    rows: int
    params: Mapping[str, Any] = field(default_factory=dict)
    or_fewer: bool = False

    def is_met_by(self, matched: int) -> bool:
        """Whether this many rows may have been matched; a driver says -1 for "not known"."""
        return matched == self.rows or (self.or_fewer and 0 <= matched < self.rows)


def carry_out(conn: Connection, write: Write) -> CursorResult[Any]:
    """Execute a write.  Raises Unmatched, on which the transaction begins again."""
    result = conn.execute(write.statement, write.params, execution_options=_OPTIONS)
    if not write.is_met_by(result.rowcount):
        raise Unmatched(f"{result.rowcount} rows instead of {write.rows}: {write.statement}")
    return result
