"""`GET /`: which versions there are; `GET /healthcheck`: whether the service can serve."""

from placement.api.exchange import NOW, Call, Reply
from placement.api.render import root as render


def versions(call: Call) -> Reply:
    """The version document."""
    return Reply(200, render.document(), changed_at=NOW)


def healthcheck(call: Call) -> Reply:
    """200 while the database answers.  Raises DatabaseUnavailable, hence 503, otherwise."""
    call.service.database.ping()
    return Reply(200, {"status": "ok"})
