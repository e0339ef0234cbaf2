"""`/holds`."""

from functools import partial

from placement.api.handler import Call, Reply
from placement.api.responses.times import HoldEnd
from placement.objects import holds


def update_hold(call: Call) -> Reply:
    """Set the end of a hold to a number of seconds from now; null makes the claim permanent."""
    uuid, expires_in = call.path["consumer"], call.body["expires_in"]
    if expires_in is None:
        call.service.database.write(partial(holds.confirm, uuid=uuid))
        return Reply(200, HoldEnd(None))
    max_age = call.service.settings.holds.max_age
    end = call.service.database.write(
        partial(holds.extend, uuid=uuid, expires_in=int(expires_in), max_age=max_age)
    )
    return Reply(200, HoldEnd(end))


def delete_hold(call: Call) -> Reply:
    """Release a hold: delete its consumer and allocations. Other consumers are not deleted."""
    call.service.database.write(partial(holds.delete, uuid=call.path["consumer"]))
    return Reply(204)
