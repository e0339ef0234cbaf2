"""A faster cursor for PyMySQL, which offers no way to change how it reads results.

The driver reads each packet of a result in two steps, and describes the columns again each time.
This cursor parses a result at once if it has arrived completely and has columns that the driver
has described before. It leaves all other results to the driver: long ones, and errors.

From version 1.2 on, connections without options of TLS use TLS if the server has it, and do not
verify the server. The driver still reads the authorities of the machine for each of these
connections, which takes 25 ms of processor time. Here they share one context.
"""

from collections.abc import Sequence
from functools import cache, partial
from io import BufferedReader
from struct import unpack
from typing import Any, NamedTuple

from pymysql import cursors
from pymysql.connections import Connection
from pymysql.constants import COMMAND, SERVER_STATUS

_make_context = Connection._create_ssl_ctx
_context_without_options = cache(partial(_make_context, None, {}))


def _context(connection: Any, options: Any) -> Any:
    return _make_context(connection, options) if options else _context_without_options()


Connection._create_ssl_ctx = _context

# Maximum number of results whose columns are cached.
MAX_DESCRIBED = 1000
# Maximum number of columns of these results, because a larger number takes several bytes.
MAX_COLUMNS = 250

# Maximum number of bytes that are received at once. The driver receives 8 KiB.
BUFFER_SIZE = 2**18

HEADER = 4  # bytes of a packet before its content
OK, END, NULL = 0x00, 0xFE, 0xFB  # first byte of a packet, and of a value
END_LENGTH = 5  # bytes of the packets after columns and rows

# First byte of a long length -> number of the bytes after it.
SIZES = {0xFC: 2, 0xFD: 3, 0xFE: 8}

# Encoding of the connection, whether it decodes text, and the packets of the columns.
Key = tuple[str, bool, tuple[bytes, ...]]


class Columns(NamedTuple):
    # Their description according to PEP 249.
    description: Any
    # The encoding and the converter of each column; each may be None.
    converters: Sequence[tuple[str | None, Any]]


class Result(NamedTuple):
    """A result with the attributes that the driver's connection and cursor read."""

    # Number of rows that a write matched, or that a read returns.
    affected_rows: int
    # Id of an inserted row, or None for a read.
    insert_id: int | None
    # State of the connection, or None for a read.
    server_status: int | None
    warning_count: int
    # Description of the columns according to PEP 249, or None for a write.
    description: Any
    # Values of the columns of each row, or None for a write.
    rows: Sequence[Any] | None
    # Whether another result follows.
    has_next: int = 0
    # Whether the driver reads the rows later.
    unbuffered_active: bool = False


_described: dict[Key, Columns] = {}


class Received(BufferedReader):
    """The received bytes of a connection. The buffer is larger than that of the driver."""


class FastCursor(cursors.Cursor):  # type: ignore[misc]  # PyMySQL is not typed
    """A cursor that parses small results at once."""

    def __init__(self, connection: Any) -> None:
        super().__init__(connection)
        if type(connection._rfile) is BufferedReader:
            connection._rfile = Received(connection._rfile.detach(), BUFFER_SIZE)

    def nextset(self) -> bool | None:
        """Go to the next result; return None if there is none."""
        # PERF: called before each statement, and when the cursor is closed.
        if self._result is None or not self._result.has_next:
            return None
        further: bool | None = super().nextset()
        return further

    def _query(self, query: str) -> int:
        conn = self._get_db()
        self._clear_result()
        conn._execute_command(COMMAND.COM_QUERY, query)
        try:
            buffer = _arrived(conn)
            packets = _split(buffer)
            result = _parse(conn, packets)
        except BaseException:
            conn._force_close()  # the response stays unread, so the next one would be another's
            raise
        if result is None:
            conn._read_query_result()
            _describe(conn, packets)
        else:
            conn._rfile.read(len(buffer))
            conn._result = result
            if result.server_status is not None:
                conn.server_status = result.server_status
        self._do_get_result()
        conn._affected_rows = rows = int(self.rowcount)
        return rows


def _arrived(conn: Any) -> bytes:
    """Wait for a response, and return its beginning without consuming it."""
    if conn._read_timeout != conn._write_timeout:
        return b""  # only the driver can change the timeout of its socket
    try:
        beginning: bytes = conn._rfile.peek()
    except OSError:
        return b""  # the driver fails in the same way, and raises its own error
    return beginning


def _split(buffer: bytes) -> list[bytes]:
    """Return the contents of all packets, or nothing if the last one is not complete."""
    packets, start = [], 0
    while start < len(buffer):
        end = start + HEADER + int.from_bytes(buffer[start : start + 3], "little")
        packets.append(buffer[start + HEADER : end])
        start = end
    return packets if start == len(buffer) else []


def _parse(conn: Any, packets: Sequence[bytes]) -> Result | None:
    """Return the result that packets consist of, or None if the driver has to read it."""
    if len(packets) == 1 and packets[0][0] == OK:
        return _parse_ok(packets[0])
    if not packets or not _is_end(packets[-1]):
        return None
    columns = _described.get(_key(conn, packets))
    first = packets[0][0] + 2  # after the number of columns, the columns and their end
    if columns is None or first >= len(packets):
        return None
    warnings, status = unpack("<HH", packets[-1][1:])
    status |= unpack("<H", packets[first - 1][3:])[0]  # with several results, this is of the first
    if status & SERVER_STATUS.SERVER_MORE_RESULTS_EXISTS:
        return None
    rows = tuple([_parse_row(packet, columns.converters) for packet in packets[first:-1]])
    return Result(len(rows), None, None, warnings, columns.description, rows)


def _parse_ok(packet: bytes) -> Result | None:
    matched, start = _integer(packet, 1)
    row_id, start = _integer(packet, start)
    status, warnings = unpack("<HH", packet[start : start + 4])
    if status & SERVER_STATUS.SERVER_MORE_RESULTS_EXISTS:
        return None
    return Result(matched, row_id, status, warnings, None, None)


def _parse_row(packet: bytes, converters: Sequence[tuple[str | None, Any]]) -> tuple[Any, ...]:
    values: list[Any] = []
    start = 0
    for encoding, convert in converters:
        if packet[start] == NULL:
            values.append(None)
            start += 1
            continue
        length, start = _integer(packet, start)
        value: Any = packet[start : start + length]
        start += length
        if encoding is not None:
            value = value.decode(encoding)
        values.append(value if convert is None else convert(value))
    return tuple(values)


def _integer(packet: bytes, start: int) -> tuple[int, int]:
    """Return an integer of variable length, and the position after it."""
    first = packet[start]
    size = SIZES.get(first, 0)
    if not size:
        return first, start + 1
    end = start + 1 + size
    return int.from_bytes(packet[start + 1 : end], "little"), end


def _is_end(packet: bytes) -> bool:
    return len(packet) == END_LENGTH and packet[0] == END


def _key(conn: Any, packets: Sequence[bytes]) -> Key:
    return conn.encoding, conn.use_unicode, tuple(packets[1 : packets[0][0] + 1])


def _describe(conn: Any, packets: Sequence[bytes]) -> None:
    """Cache the columns of a result that the driver has read, if all had arrived."""
    result = conn._result
    if result.rows is not None and len(result.converters) <= min(MAX_COLUMNS, len(packets) - 1):
        if len(_described) >= MAX_DESCRIBED:
            _described.clear()
        _described[_key(conn, packets)] = Columns(result.description, result.converters)
