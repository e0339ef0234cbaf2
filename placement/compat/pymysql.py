"""One TLS context for all connections of PyMySQL without options of TLS.

From version 1.2 on, connections without options of TLS use TLS if the server has it, and do not
verify the server. The driver still reads the authorities of the machine for each of these
connections, which takes 25 ms of processor time. Here they share one context.
"""

from functools import cache, partial
from typing import Any

from pymysql.connections import Connection

_make_context = Connection._create_ssl_ctx
_context_without_options = cache(partial(_make_context, None, {}))


def _context(connection: Any, options: Any) -> Any:
    return _make_context(connection, options) if options else _context_without_options()


Connection._create_ssl_ctx = _context
