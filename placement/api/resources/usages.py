"""`/usages`."""

from placement.api import query
from placement.api.handler import NOW, Call, Reply
from placement.objects import usages


def show_usages(call: Call) -> Reply:
    """Show the usage of each resource class by a project, or by one of its users."""
    filters = query.parse_usage_query(query.pairs(call.query_string), call.version)
    with call.service.database.read() as conn:
        by_type = usages.get_for_project(conn, filters.project, filters.user, filters.consumer_type)
    return Reply(200, by_type, changed_at=NOW)
