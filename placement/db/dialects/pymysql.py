"""TLS of connections with PyMySQL."""

import ssl
from typing import Any

from pymysql import VERSION
from pymysql.constants import CLIENT, CR
from pymysql.err import OperationalError
from sqlalchemy.engine import URL
from sqlalchemy.util import asbool

import placement.compat.pymysql  # noqa: F401

# URL parameters with which PyMySQL ignores the dictionary `ssl`, in which SQLAlchemy passes files.
OWN_VERIFICATION = frozenset({"ssl_verify_cert", "ssl_verify_identity"})
FILES = frozenset({"ssl_ca", "ssl_cert", "ssl_key"})
AUTHORITIES = frozenset({"ssl_ca", "ssl_capath"})


def arguments(url: URL) -> dict[str, Any]:
    """Return arguments for PyMySQL's `connect` in addition to those of SQLAlchemy."""
    given: dict[str, Any] = {}
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
