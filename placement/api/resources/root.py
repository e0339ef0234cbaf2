"""`GET /`: which versions there are; `GET /healthcheck`: whether the service can serve."""

from placement.api.handler import NOW, Call, Reply
from placement.api.render import root as render
from placement.objects import health


def versions(call: Call) -> Reply:
    """The version document."""
    return Reply(200, render.document(), changed_at=NOW)


def healthcheck(call: Call) -> Reply:
    """200 while the database can be worked with, 503 otherwise."""
    health.check(call.service.database)
    return Reply(200, {"status": "ok"})
