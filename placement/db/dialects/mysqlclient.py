"""Secure connection options for mysqlclient. Its defaults are weaker than the defaults of PyMySQL.

The defaults come from the client library of MariaDB or MySQL, which mysqlclient uses.
"""

from collections.abc import Mapping
from typing import Any

from sqlalchemy.engine import URL
from sqlalchemy.util import asbool

DRIVER = "mysqldb"  # in URLs
MODULE = "MySQLdb"

SAFE_DEFAULTS: Mapping[str, Any] = {
    "charset": "utf8mb4",  # the default depends on how the library was built
    # Seconds, including the wait for a server that accepts a connection but sends nothing.
    "connect_timeout": 10,
    "local_infile": False,  # otherwise, the server could request any file on the client
    "multi_statements": False,
}


def arguments(url: URL) -> dict[str, Any]:
    """Return the arguments of `connect` that the URL does not set.

    Raises:
        ValueError: the URL requests TLS in a mode that does not enforce it.
    """
    missing = {name: value for name, value in SAFE_DEFAULTS.items() if name not in url.query}
    return {**missing, **_tls(url)}


def _tls(url: URL) -> dict[str, Any]:
    """Verify the server's certificate if the URL has any option of TLS.

    Without a mode, the library continues in plain text if the server, or a host in between, does
    not offer TLS.
    """
    mode = url.query.get("ssl_mode")
    if mode == "REQUIRED":
        raise ValueError(
            "ssl_mode=REQUIRED: MariaDB's client library continues without TLS all the same; use "
            "VERIFY_IDENTITY, and ssl_ca for the authority"
        )
    if mode is not None or not any(name.startswith("ssl_") for name in url.query):
        return {}
    by_name = asbool(url.query.get("ssl_check_hostname", "true"))
    return {"ssl_mode": "VERIFY_IDENTITY" if by_name else "VERIFY_CA"}
