"""Times of holds in answers."""

from typing import NamedTuple

from placement.api.members import TIME_SCHEMA, utc_time
from placement.api.shapes import Custom, Json, Object, Property

# None if the claim is permanent.
_END_OF_HOLD = Custom(
    Json({**TIME_SCHEMA, "type": ["string", "null"]}),
    lambda _view: lambda seconds: None if seconds is None else utc_time(seconds),
)


class HoldEnd(NamedTuple):
    """The end of a hold."""

    # In seconds since 1970; None if the claim is permanent.
    expires_at: int | None


HOLD: Object[HoldEnd] = Object("Hold", Property("expires_at", _END_OF_HOLD))
