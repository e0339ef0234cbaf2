"""Values are written into statements exactly as PyMySQL writes them."""

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pymysql
import pytest
from pymysql.constants import SERVER_STATUS
from sqlalchemy.engine import make_url

from placement.db.dialects import dialect_of_url
from placement.db.dialects.pymysql import Cursor
from placement.vocabulary import MAX_INTEGER
from tests.kit.builders import settings

VALUES = (
    None,
    True,
    0,
    -1,
    MAX_INTEGER,
    2**64,
    0.1,
    1e300,
    Decimal("1.50"),
    "",
    "VCPU",
    "c0ffee00-0000-4000-8000-000000000000",
    "host.example.org:8778",
    "it's",
    'a "b"',
    "back\\slash",
    "two\nlines",
    "new line at the end\n",
    "100 %s %(a)s",
    "zero\x00",
    "ctrl\x1a",
    "größe",
    "١٢٣",
    "\U0001f600",
    b"bytes'",
    datetime(2026, 11, 22, 1, 2, 3),
    datetime(2026, 11, 22, 1, 2, 3, 45),
    datetime(999, 1, 2),
    datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC),
)


class Text(str):
    """A text whose type is not `str` itself."""

    __slots__ = ()


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Collect what the driver sends."""
    statements: list[Any] = []

    def query(_self: Any, text: str) -> int:
        statements.append(text)
        return 0

    for kind in (pymysql.cursors.Cursor, Cursor):
        monkeypatch.setattr(kind, "_query", query)
    return statements


def connection(status: int = 0) -> pymysql.Connection:
    """Return a connection to no server, in this state."""
    conn = pymysql.Connection(defer_connect=True)
    conn.server_status = status
    return conn


@pytest.mark.parametrize("status", [0, SERVER_STATUS.SERVER_STATUS_NO_BACKSLASH_ESCAPES])
@pytest.mark.parametrize("value", [*VALUES, Text("it's")], ids=repr)
def test_a_value_is_written_as_the_driver_writes_it(
    sent: list[Any], value: object, status: int
) -> None:
    conn = connection(status)
    sql, values = "SELECT %(a)s, '50%%', %(b)s, %(a)s", {"a": value, "b": 1}
    for cursor in (pymysql.cursors.Cursor(conn), Cursor(conn)):
        cursor.execute(sql, values)
    usual, ours = sent
    assert ours == usual


def test_a_statement_without_values_is_sent_as_it_is(sent: list[Any]) -> None:
    Cursor(connection()).execute("SELECT '%'")
    assert sent == ["SELECT '%'"]


def test_values_in_order_are_left_to_the_driver(sent: list[Any]) -> None:
    Cursor(connection()).execute("SELECT %s, %s", ("it's", 1))
    assert sent == ["SELECT 'it\\'s', 1"]


@pytest.mark.parametrize("url", ["mysql+pymysql://h/d", "mariadb+pymysql://h/d?ssl_ca=x"])
def test_connections_have_this_cursor(url: str) -> None:
    parsed = make_url(url)
    arguments = dialect_of_url(parsed).connect_args(parsed, settings("sqlite://").database)
    assert arguments == {"cursorclass": Cursor}
