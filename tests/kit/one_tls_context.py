"""PyMySQL with one TLS context for all connections without parameters of TLS.

In case a server has TLS, PyMySQL reads the authorities of the machine for each connection: 15 ms of
a processor, a third of all that the tests on MariaDB took. They are the same each time.
"""

import functools
from typing import Any

import pymysql

_make_context = pymysql.connections.Connection._create_ssl_ctx
_usual_context = functools.cache(functools.partial(_make_context, None, {}))


def _context(connection: Any, parameters: Any) -> Any:
    return _make_context(connection, parameters) if parameters else _usual_context()


def use() -> None:
    """Let all connections of this process, and of processes that it forks, use it."""
    pymysql.connections.Connection._create_ssl_ctx = _context
