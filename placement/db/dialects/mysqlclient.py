"""What mysqlclient has to be told: left to itself it is less careful than PyMySQL.

It stands on MariaDB's client library (or MySQL's), whose defaults these are.
"""

from collections.abc import Mapping
from typing import Any

from sqlalchemy.engine import URL
from sqlalchemy.util import asbool

DRIVER = "mysqldb"  # as URLs have it
MODULE = "MySQLdb"

CAREFUL: Mapping[str, Any] = {
    "charset": "utf8mb4",  # not what the library was built with
    "connect_timeout": 10,  # seconds, also for a server that accepts and says nothing
    "local_infile": False,  # otherwise a server may ask for any file of this machine
    "multi_statements": False,
}


def arguments(url: URL) -> dict[str, Any]:
    """Return the arguments of `connect` that the URL leaves open.  Raises ValueError."""
    open_ones = {name: value for name, value in CAREFUL.items() if name not in url.query}
    return {**open_ones, **_tls(url)}


def _tls(url: URL) -> dict[str, Any]:
    """Have the server's certificate verified as soon as the URL speaks of TLS.

    Without a mode, the library goes on in plain text if the server, or somebody between, has no
    TLS.
    """
    mode = url.query.get("ssl_mode")
    if mode == "REQUIRED":
        raise ValueError(
            "ssl_mode=REQUIRED: MariaDB's client library goes on without TLS all the same; use "
            "VERIFY_IDENTITY, and ssl_ca for the authority"
        )
    if mode is not None or not any(name.startswith("ssl_") for name in url.query):
        return {}
    by_name = asbool(url.query.get("ssl_check_hostname", "true"))
    return {"ssl_mode": "VERIFY_IDENTITY" if by_name else "VERIFY_CA"}
