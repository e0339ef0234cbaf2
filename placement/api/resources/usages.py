"""`/usages` (contract resources.md section 6.2)."""

from placement.api import query
from placement.api.exchange import NOW, Call, Reply
from placement.objects import usages


def show(call: Call) -> Reply:
    """What a project, or a user of it, consumes, by type of consumer."""
    asked = query.parse_usage_query(query.pairs(call.query))
    with call.service.database.read() as conn:
        found = usages.of_project(conn, asked.project, asked.user, asked.consumer_type)
    body = {
        name: {"consumer_count": usage.consumer_count, **usage.amounts}
        for name, usage in found.items()
    }
    return Reply(200, {"usages": body}, changed_at=NOW)
