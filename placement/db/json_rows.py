"""Rows that the database returns as one text: a JSON list of lists.

PyMySQL needs some 6 µs for a row, more for each value in it and 10 for each column, a JSON parser
a tenth of that.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any

import orjson
import sqlalchemy as sa
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement

from placement.db.dialects import dialect_named


class JsonRows(FunctionElement[str]):
    """An aggregate: the columns of all rows as the text of a JSON list of lists.

    Columns are numbers, texts and times. The rows come in any order.
    """

    name = "json_rows"
    type = sa.Text()
    inherit_cache = True


class JsonRow(FunctionElement[str]):
    """The columns of one row as the text of a JSON list, for rows that come in an order."""

    name = "json_row"
    type = sa.Text()
    inherit_cache = True


@compiles(JsonRow)
def _compile_row(element: JsonRow, compiler: Any, **options: Any) -> str:
    columns = [(compiler.process(column, **options), column.type) for column in element.clauses]
    return dialect_named(compiler.dialect.name).json_row(columns)


@compiles(JsonRows)
def _compile(element: JsonRows, compiler: Any, **options: Any) -> str:
    columns = [(compiler.process(column, **options), column.type) for column in element.clauses]
    return dialect_named(compiler.dialect.name).json_rows(columns)


def parse_text(text: str | None) -> list[list[Any]]:
    """Return the rows in one text of `JsonRows`, or none for a null."""
    return orjson.loads(text) if text else []


def parse_rows(texts: Iterable[Sequence[str | None]]) -> list[list[Any]]:
    """Return the rows in all texts of a statement that selects one `JsonRows`, once or for groups.

    They are sorted, for the texts have no order: the first column is to be a different id in each.
    """
    return sorted(parse_unsorted(texts))


def parse_unsorted(texts: Iterable[Sequence[str | None]]) -> list[list[Any]]:
    """Return the rows in all texts, as `parse_rows` does, in any order."""
    return [row for (text,) in texts for row in parse_text(text)]


def parse_each(texts: Iterable[Sequence[str]]) -> list[list[Any]]:
    """Return the rows of a statement that selects `JsonRow`, in its order."""
    return [orjson.loads(text) for (text,) in texts]


# PERF: thousands of rows were made in the same few seconds.
@lru_cache(maxsize=1024)
def parse_time(text: str | None) -> datetime | None:
    """Return a time as `JsonRows` has it."""
    return None if text is None else datetime.fromisoformat(text)
