"""A faster cursor for PyMySQL, whose own cursor escapes values with several Python functions."""

import re
import ssl
from datetime import datetime
from functools import lru_cache
from typing import Any

from pymysql import VERSION
from pymysql.constants import CLIENT, CR
from pymysql.err import OperationalError
from sqlalchemy.engine import URL
from sqlalchemy.util import asbool

from placement.compat.pymysql import FastCursor

# Text without characters that must be escaped in any character set and SQL mode.
PLAIN = re.compile(r"[0-9A-Za-z_.:-]*", re.ASCII)


# URL parameters with which PyMySQL ignores the dictionary `ssl`, in which SQLAlchemy passes files.
OWN_VERIFICATION = frozenset({"ssl_verify_cert", "ssl_verify_identity"})
FILES = frozenset({"ssl_ca", "ssl_cert", "ssl_key"})
AUTHORITIES = frozenset({"ssl_ca", "ssl_capath"})


def arguments(url: URL) -> dict[str, Any]:
    """Return arguments for PyMySQL's `connect` in addition to those of SQLAlchemy."""
    given: dict[str, Any] = {"cursorclass": Cursor}
    options = {name for name in url.query if name.startswith("ssl_")} - {"ssl_disabled"}
    checks_name = url.query.get("ssl_check_hostname")
    if options & OWN_VERIFICATION:
        given |= {name: url.query[name] for name in FILES & options}
        if asbool(checks_name or "false"):
            given["ssl_verify_identity"] = True
    elif options and not options & AUTHORITIES:
        # The driver would verify nothing without an authority. The other driver verifies by those
        # of the machine.
        machine = ssl.get_default_verify_paths()
        given["ssl"] = {
            **{name.removeprefix("ssl_"): url.query[name] for name in options},
            "ca": machine.cafile,
            "capath": machine.capath,
            "check_hostname": asbool(checks_name or "true"),
            "verify_mode": True,
        }
    return given


def refuse_plain_text(connection: Any) -> None:
    """Raise OperationalError if a connection has options of TLS, but the server has no TLS.

    PyMySQL before 1.2 continues in plain text. Later versions refuse it, and use TLS also without
    options, if the server has it.
    """
    if VERSION >= (1, 2) or not connection.ssl:
        return
    if not connection.server_capabilities & CLIENT.SSL:
        raise OperationalError(
            CR.CR_SSL_CONNECTION_ERROR, "SSL is required, but the server does not support it"
        )


class Cursor(FastCursor):
    """A cursor that writes plain values into a statement.

    The driver's own cursor writes all others.
    """

    def execute(self, query: str, args: Any = None) -> int:
        """Execute a statement with its values. Return the number of rows."""
        if isinstance(args, dict):
            query %= {name: self._literal(value) for name, value in args.items()}
            args = None
        elif isinstance(args, tuple) and args:
            query %= tuple([self._literal(value) for value in args])
            args = None
        rows: int = super().execute(query, args)
        return rows

    def _literal(self, value: Any) -> str:
        kind = type(value)
        if kind is int:
            return str(value)
        if kind is str and PLAIN.fullmatch(value):
            return f"'{value}'"
        if kind is datetime and value.tzinfo is None:
            return _time(value)
        return str(self.mogrify("%s", (value,)))


# PERF: all rows that are written together contain the same time, in whole seconds.
@lru_cache(maxsize=16)
def _time(value: datetime) -> str:
    return f"'{value}'"
