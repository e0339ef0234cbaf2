"""The form of a database in messages and logs: without secrets and on one line."""

import os
import re
from urllib.parse import quote

from sqlalchemy.engine import URL

# URL parameters whose values must not be shown.
SECRET = re.compile("pass|secret|token", re.IGNORECASE)
MASK = "***"


def masked_url(url: URL) -> str:
    """Return a URL with all passwords masked, including passwords in the query."""
    query = {name: MASK if SECRET.search(name) else value for name, value in url.query.items()}
    return url.set(query=query).render_as_string().replace(quote(MASK, safe=""), MASK)


def unreadable_files(url: URL) -> str:
    """Return the TLS parameters of a URL whose files cannot be read, or ""."""
    files = {name: path for name, path in url.query.items() if name.startswith("ssl_")}
    return ", ".join(
        f"{name}={path}"
        for name, path in files.items()
        if isinstance(path, str) and "/" in path and not os.access(path, os.R_OK)
    )


def one_line(error: Exception) -> str:
    """Return the message of a database error, without the statement, parameters and line breaks."""
    origin = getattr(error, "orig", None) or error
    match origin.args:
        case (int(code), str(text)):  # of a driver for MySQL
            return " ".join(f"{text} (error {code})".split())
    return " ".join(str(origin).split())
