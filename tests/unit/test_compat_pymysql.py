"""The cursor for PyMySQL returns what the driver's own cursor returns."""

from __future__ import annotations

import io
import struct
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any

import pymysql
import pytest
from pymysql.constants import FIELD_TYPE, SERVER_STATUS

from placement.compat import pymysql as fast
from placement.compat.pymysql import FastCursor

IN_TRANSACTION = SERVER_STATUS.SERVER_STATUS_IN_TRANS
MORE = SERVER_STATUS.SERVER_MORE_RESULTS_EXISTS
BINARY, UTF8 = 63, 45  # character sets
LONG = "x" * 300
LONGER = "z" * 70_000  # longer than the driver's buffer of a connection
HUGE = "y" * 300_000  # longer than ours


class Pieces(io.RawIOBase):
    """What a server sends, in pieces as they arrive."""

    def __init__(self, pieces: Sequence[bytes]) -> None:
        self.pieces = deque(pieces)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if not self.pieces:
            return 0
        piece = self.pieces.popleft()
        taken = piece[: len(buffer)]
        if len(taken) < len(piece):
            self.pieces.appendleft(piece[len(taken) :])
        buffer[: len(taken)] = taken
        return len(taken)


class Socket:
    """The socket of a connection to no server."""

    def sendall(self, _data: bytes) -> None:
        pass

    def settimeout(self, _seconds: float | None) -> None:
        pass

    def close(self) -> None:
        pass


def connection(*pieces: bytes, **options: Any) -> Any:
    """Return a connection that receives these pieces."""
    conn = pymysql.Connection(defer_connect=True, **options)
    conn._sock, conn._rfile = Socket(), io.BufferedReader(Pieces(pieces))
    conn._current_timeout, conn.server_status = None, 0
    return conn


def text(value: str | bytes | None) -> bytes:
    """Return a value, or a name, as the server sends it."""
    if value is None:
        return b"\xfb"
    data = value.encode() if isinstance(value, str) else value
    size = len(data)
    if size < 251:
        return bytes([size]) + data
    if size < 1 << 16:
        return b"\xfc" + struct.pack("<H", size) + data
    return b"\xfd" + size.to_bytes(3, "little") + data


def packets(*contents: bytes) -> bytes:
    """Return packets with their lengths and numbers."""
    numbered = enumerate(contents, 1)
    return b"".join(
        len(each).to_bytes(3, "little") + bytes([number % 256]) + each for number, each in numbered
    )


def ok(matched: int = 0, row_id: bytes = b"\0", status: int = IN_TRANSACTION) -> bytes:
    """Return the response to a write."""
    return packets(b"\0" + bytes([matched]) + row_id + struct.pack("<HH", status, 3) + b"message")


def column(name: str, kind: int, charset: int) -> bytes:
    names = b"".join(map(text, ("def", "", "", "", name, "")))
    return names + struct.pack("<BHIBHBxx", 12, charset, 100, kind, 0, 0)


COLUMNS = (
    column("name", FIELD_TYPE.VAR_STRING, UTF8),
    column("number", FIELD_TYPE.LONGLONG, BINARY),
    column("raw", FIELD_TYPE.BLOB, BINARY),
    column("at", FIELD_TYPE.DATETIME, BINARY),
    column("price", FIELD_TYPE.NEWDECIMAL, BINARY),
)


def result(*rows: Sequence[str | bytes | None], status: int = 2) -> bytes:
    """Return the response to a read."""
    end = b"\xfe" + struct.pack("<HH", 1, status)
    lines = [b"".join(map(text, row)) for row in rows]
    return packets(bytes([len(COLUMNS)]), *COLUMNS, end, *lines, end)


ROW = ("größe", "-7", b"\xff\0", "2026-11-22 01:02:03", "1.50")
RESPONSES = {
    "a write": ok(3, b"\x05"),
    "an id of three bytes": ok(1, b"\xfd\x01\x02\x03"),
    "an id of eight bytes": ok(1, b"\xfe" + b"\x07" * 8),
    "no rows": result(),
    "a row": result(ROW),
    "nulls": result((None,) * 5, ROW, (None, "1", None, None, None)),
    "a long value": result((LONG, *ROW[1:]), ROW),
    "a longer value": result((LONGER, *ROW[1:]), ROW),
    "a huge value": result((HUGE, *ROW[1:]), ROW),
    "many rows": result(*[ROW] * 300),
}
ERROR = packets(b"\xff" + struct.pack("<H", 1213) + b"#40001Deadlock found")
ATTRIBUTES = ("rowcount", "lastrowid", "description", "warning_count", "rownumber")


@pytest.fixture(autouse=True)
def nothing_described() -> Iterator[None]:
    fast._described.clear()
    yield
    fast._described.clear()


def outcome(kind: type[Any], conn: Any) -> tuple[object, ...]:
    """Execute a statement; return all that a caller can see."""
    cursor = kind(conn)
    matched = cursor.execute("SELECT")
    seen = tuple(getattr(cursor, name) for name in ATTRIBUTES)
    rows = cursor.fetchall()
    cursor.close()
    return matched, rows, seen, conn.server_status, conn.insert_id(), conn.affected_rows()


def responses(response: bytes, size: int) -> list[bytes]:
    """Return a response three times, each in pieces of a size."""
    return [response[at : at + size] for at in range(0, len(response), size)] * 3


@pytest.mark.parametrize("size", [1, 7, 50, 1 << 20])
@pytest.mark.parametrize("name", RESPONSES)
def test_a_result_is_the_drivers(name: str, size: int) -> None:
    pieces = responses(RESPONSES[name], size)
    theirs, ours = connection(*pieces), connection(*pieces)
    for _ in range(3):
        assert outcome(FastCursor, ours) == outcome(pymysql.cursors.Cursor, theirs)


@pytest.mark.parametrize("name", sorted(RESPONSES.keys() - {"a huge value"}))
def test_the_driver_reads_no_result_twice_that_fits_into_the_buffer(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    conn = connection(*responses(RESPONSES[name], 1 << 20))
    first = outcome(FastCursor, conn)
    monkeypatch.delattr(pymysql.Connection, "_read_query_result")
    assert outcome(FastCursor, conn) == first


def test_an_error_is_raised_by_the_driver() -> None:
    conn = connection(result(ROW), ERROR, ok())
    outcome(FastCursor, conn)
    with pytest.raises(pymysql.err.OperationalError, match="Deadlock"):
        outcome(FastCursor, conn)
    assert outcome(FastCursor, conn)[0] == 0


def test_an_error_after_some_rows_is_raised_by_the_driver() -> None:
    end = len(packets(b"\xfe" + bytes(4)))
    conn = connection(result(ROW), result(ROW)[:-end] + ERROR[:3] + b"\x09" + ERROR[4:])
    outcome(FastCursor, conn)
    with pytest.raises(pymysql.err.OperationalError, match="Deadlock"):
        outcome(FastCursor, conn)


@pytest.mark.parametrize("sent", [b"", result(ROW)[:-3]])
def test_a_lost_connection_is_found_by_the_driver(sent: bytes) -> None:
    conn = connection(result(ROW), *([sent] if sent else []))
    outcome(FastCursor, conn)
    with pytest.raises(pymysql.err.OperationalError, match="Lost connection") as raised:
        outcome(FastCursor, conn)
    assert raised.value.args[0] == 2013
    assert not conn.open


def test_a_socket_that_fails_is_a_lost_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_self: object, _buffer: object) -> int:
        raise ConnectionResetError

    monkeypatch.setattr(Pieces, "readinto", fail)
    with pytest.raises(pymysql.err.OperationalError) as raised:
        outcome(FastCursor, connection())
    assert raised.value.args[0] == 2013


@pytest.mark.parametrize("response", [ok(1, status=MORE), result(ROW, status=MORE)])
def test_further_results_are_left_to_the_driver(response: bytes) -> None:
    sent = packets(*fast._split(response + response + result(ROW)))
    theirs, ours = connection(sent), connection(sent)
    for cursor in (pymysql.cursors.Cursor(theirs), FastCursor(ours)):
        cursor.execute("SELECT")
        assert cursor.nextset()
        assert cursor.nextset()
        assert cursor.fetchall()[0][0] == "größe"


def test_the_driver_reads_if_it_has_to_change_the_timeout() -> None:
    conn = connection(read_timeout=5)
    conn._rfile = io.BytesIO(ok(1))  # which does not show what has arrived
    assert outcome(FastCursor, conn)[0] == 1


def test_two_results_are_not_parsed_as_one() -> None:
    end, more = (b"\xfe" + struct.pack("<HH", 0, status) for status in (2, 2 | MORE))
    number, row = bytes([len(COLUMNS)]), b"".join([text(value) for value in ROW])
    both = packets(number, *COLUMNS, more, row, more, number, *COLUMNS, end, row, row, end)
    conn = connection(result(ROW), both)
    outcome(FastCursor, conn)
    cursor = FastCursor(conn)
    assert cursor.execute("SELECT") == 1
    assert cursor.nextset()
    assert len(cursor.fetchall()) == 2


def test_columns_that_had_not_all_arrived_are_not_cached() -> None:
    response = result(ROW)
    arrived = len(packets(bytes([len(COLUMNS)]), *COLUMNS[:2]))
    outcome(FastCursor, connection(response[:arrived], response[arrived:]))
    assert not fast._described


def test_a_response_that_is_given_up_closes_the_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(_self: object, _buffer: object) -> int:
        raise KeyboardInterrupt

    conn = connection(ok())
    monkeypatch.setattr(Pieces, "readinto", interrupt)
    with pytest.raises(KeyboardInterrupt):
        outcome(FastCursor, conn)
    monkeypatch.undo()
    with pytest.raises(pymysql.err.InterfaceError):
        outcome(FastCursor, conn)


def test_results_with_many_columns_are_left_to_the_driver() -> None:
    number, end = b"\xfc" + struct.pack("<H", 251), b"\xfe" + struct.pack("<HH", 0, 2)
    columns = [column("", FIELD_TYPE.LONGLONG, BINARY)] * 251
    conn = connection(*[packets(number, *columns, end, text("7") * 251, end)] * 2)
    for _ in range(2):
        assert outcome(FastCursor, conn)[1] == ((7,) * 251,)


def test_the_cached_columns_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fast, "MAX_DESCRIBED", 2)
    for charset in ("utf8", "latin1", "ascii", "utf8mb4"):
        conn = connection(result(), charset=charset)
        outcome(FastCursor, conn)
        assert 1 <= len(fast._described) <= 2


def test_pymysql_has_no_option_for_the_reader_of_results() -> None:
    # Offered would be a class of results, or a parser in C.
    assert not {name for name in vars(pymysql.Connection) if "class" in name.lower()} - {
        "__class_getitem__"
    }
