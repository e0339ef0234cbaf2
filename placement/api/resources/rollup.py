"""`/resource_providers/{uuid}/rollup`."""

from placement.api import query
from placement.api.handler import NOW, Call, Reply
from placement.objects import rollup


def show_provider_rollup(call: Call) -> Reply:
    """Sum up what a provider and all below it have, by resource class.

    `free` of a provider is not below 0. `largest` is the most that one provider could give at once.
    `sharing` has the sharing providers outside of the tree that the whole tree reaches.
    """
    query.refuse_parameters(call.query_string, call.version)
    with call.service.database.read() as conn:
        sums = rollup.sum_subtree(conn, call.path["uuid"])
    return Reply(200, sums, changed_at=NOW)
