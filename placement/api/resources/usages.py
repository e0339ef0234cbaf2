"""`/usages`."""

from placement.api.handler import NOW, Call, Reply
from placement.api.parameters import pairs
from placement.api.query.usages import parse_usage_query
from placement.objects import usages


def show_usages(call: Call) -> Reply:
    """Show the usage of each resource class by a project, or by one of its users."""
    filters = parse_usage_query(pairs(call.query_string), call.version)
    with call.service.database.read() as conn:
        by_type = usages.get_for_project(conn, filters.project, filters.user, filters.consumer_type)
    return Reply(200, by_type, changed_at=NOW)
