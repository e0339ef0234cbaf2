"""`/holds`."""

from typing import NamedTuple

from placement.api.bodies import body_since_2, closed
from placement.api.handler import Call, Reply
from placement.api.members import TIME_SCHEMA, utc_time
from placement.api.operations.claims import EXPIRES_IN
from placement.api.shapes import Custom, Json, Object, Property
from placement.objects import holds

UPDATE = body_since_2(
    closed({"expires_in": {**EXPIRES_IN, "type": ["integer", "null"]}}, title="HoldEnd")
)
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


def update_hold(call: Call) -> Reply:
    """Set the end of a hold to a number of seconds from now; null makes the claim permanent."""
    uuid, expires_in = call.path["consumer"], call.body["expires_in"]
    if expires_in is None:
        call.write(holds.confirm, uuid=uuid)
        return Reply(200, HoldEnd(None))
    max_age = call.service.settings.holds.max_age
    end = call.write(holds.extend, uuid=uuid, expires_in=int(expires_in), max_age=max_age)
    return Reply(200, HoldEnd(end))


def delete_hold(call: Call) -> Reply:
    """Release a hold: delete its consumer and allocations. Other consumers are not deleted."""
    call.write(holds.delete, uuid=call.path["consumer"])
    return Reply(204)
