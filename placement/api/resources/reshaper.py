"""`/reshaper`."""

from functools import partial

from placement.api import commands
from placement.api.handler import Call, Reply
from placement.objects import reshape as reshaper


def reshape(call: Call) -> Reply:
    """Replace inventories of providers and allocations of consumers together.

    For operators and services that move inventories to other providers of a tree while they are
    in use. Either everything changes or nothing.
    """
    call.service.database.write(partial(reshaper.reshape, command=commands.reshape(call.body)))
    return Reply(204)
