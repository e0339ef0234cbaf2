"""`/changes`."""

from placement.api.handler import Call, Reply
from placement.api.parameters import pairs
from placement.api.query.changes import parse_changes_query
from placement.objects import changes


def list_changes(call: Call) -> Reply:
    """List the trees of resource providers that have changed since a cursor.

    Without `since`, the response contains no changes and the newest cursor. Each changed tree is
    listed once, by the UUID of its root, and clients then read its current state. `gone` means that
    no root has this UUID now. A provider of the tree may be in another tree, which is also listed.
    If `complete` is false, more changes are available. A change may be listed a second after its
    commit, and more than once. A cursor expires (410) when later changes are deleted (`[placement]
    changes_kept`), or when the database is replaced by an older copy.
    """
    parameters = parse_changes_query(pairs(call.query_string), call.version)
    service = call.service
    answer = changes.get_since(
        service.database.primary(),
        parameters.since,
        parameters.limit,
        service.settings.changes_kept,
    )
    return Reply(200, answer, storable=False)
