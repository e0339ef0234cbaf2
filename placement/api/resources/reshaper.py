"""`/reshaper`."""

from functools import partial

from placement.api import commands
from placement.api.handler import Call, Reply
from placement.objects import holds
from placement.objects import reshape as reshaper


def reshape(call: Call) -> Reply:
    """Replace inventories of providers and allocations of consumers together.

    Services use this operation to move inventories to other providers of a tree while they are in
    use. All changes are made in one transaction.
    """
    work = partial(reshaper.reshape, command=commands.reshape(call.body))
    holds.retry_with_room(call.service.database, lambda primary: primary.write(work))
    return Reply(204)
