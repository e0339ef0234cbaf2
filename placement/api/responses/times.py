"""Times of holds in answers."""

from datetime import UTC, datetime
from typing import NamedTuple

from placement.api.microversion import Microversion
from placement.api.shapes import Fragment, Object, Property, Renderer, View

_EXAMPLE = "2026-01-31T12:00:00Z"


def utc_time(seconds: int) -> str:
    """Return a time in seconds since 1970 as the API shows it."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


class _UtcTime:
    """A time in seconds since 1970, shown as text."""

    def schema(self, version: Microversion) -> Fragment:
        """Return the schema of the text."""
        return {"type": "string", "format": "date-time", "examples": [_EXAMPLE]}

    def renderer(self, view: View) -> Renderer:
        """Return a function that makes the text."""
        return utc_time


UTC_TIME = _UtcTime()


class _EndOfHold:
    """The end of a hold, or null if the claim is permanent."""

    def schema(self, version: Microversion) -> Fragment:
        """Return the schema of the text or null."""
        return {**UTC_TIME.schema(version), "type": ["string", "null"]}

    def renderer(self, view: View) -> Renderer:
        """Return a function that makes the text."""
        return lambda seconds: None if seconds is None else utc_time(seconds)


class HoldEnd(NamedTuple):
    """The end of a hold."""

    # In seconds since 1970; None if the claim is permanent.
    expires_at: int | None


HOLD: Object[HoldEnd] = Object("Hold", Property("expires_at", _EndOfHold()))
