"""`/reshaper` (contract reshaper.md)."""

from functools import partial

from placement.api import commands
from placement.api.handler import Call, Reply
from placement.objects.reshape import reshape


def post(call: Call) -> Reply:
    """Inventories of providers and allocations of consumers are replaced together."""
    call.service.database.write(partial(reshape, command=commands.reshape(call.body)))
    return Reply(204)
