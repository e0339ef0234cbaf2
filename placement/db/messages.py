"""What messages and logs say of a database: its URL without secrets, its complaints in one line."""

import re
from urllib.parse import quote

from sqlalchemy.engine import URL

# Names of parameters that a URL gives to a driver and nobody else may see.
SECRET = re.compile("pass|secret|token", re.IGNORECASE)
MASK = "***"


def masked_url(url: URL) -> str:
    """Return a URL without its passwords, which may stand in its query too."""
    query = {name: MASK if SECRET.search(name) else value for name, value in url.query.items()}
    return url.set(query=query).render_as_string().replace(quote(MASK, safe=""), MASK)


def one_line(error: Exception) -> str:
    """Return an engine's complaint without statement, parameters and line breaks."""
    origin = getattr(error, "orig", None) or error
    return " ".join(str(origin).split())
