"""Times of holds in answers."""

from datetime import UTC, datetime
from typing import NamedTuple

from placement.api.shapes import Custom, Json, Object, Property


def utc_time(seconds: int) -> str:
    """Return a time in seconds since 1970 as the API shows it."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


_SCHEMA = {"type": "string", "format": "date-time", "examples": ["2026-01-31T12:00:00Z"]}
UTC_TIME = Custom(Json(_SCHEMA), lambda _view: utc_time)
# None if the claim is permanent.
_END_OF_HOLD = Custom(
    Json({**_SCHEMA, "type": ["string", "null"]}),
    lambda _view: lambda seconds: None if seconds is None else utc_time(seconds),
)


class HoldEnd(NamedTuple):
    """The end of a hold."""

    # In seconds since 1970; None if the claim is permanent.
    expires_at: int | None


HOLD: Object[HoldEnd] = Object("Hold", Property("expires_at", _END_OF_HOLD))
