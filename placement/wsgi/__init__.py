"""The entry points for WSGI servers."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from placement.entry.app import Served


def init_application() -> "Served":
    """Return the application of `placement.wsgi.api`, for servers that call a function."""
    # The import reads the configuration.
    from placement.wsgi.api import application  # noqa: PLC0415

    return application
