"""`/usages`."""

from collections.abc import Mapping

from placement.api.handler import NOW, Call, Reply
from placement.api.history import Microversion
from placement.api.members import AMOUNTS
from placement.api.parameters import Pairs, Parameter, last_values, matching, owner, pairs
from placement.api.shapes import Json, Object, Property, Table
from placement.objects import usages
from placement.objects.usages import Usage

PARAMETERS: Mapping[str, Parameter] = {
    "project_id": owner("1.9", "The project.", required=True),
    "user_id": owner("1.9", "A user; only its usage is shown."),
    "consumer_type": Parameter(
        "1.38",
        "A type of consumers, `unknown` for consumers without a type, or `all` for one sum.",
        matching("([A-Z0-9_]{1,255}|all|unknown)"),
        error="expected a type in capital letters, or all, or unknown",
    ),
}


def parse_usage_query(query: Pairs, version: Microversion) -> tuple[str, str | None, str | None]:
    """Return the project, the user and the type of the consumers.

    None means all users, and one sum over all types (below 1.38). Raises BadQuery.
    """
    values = last_values(query, PARAMETERS, version)
    return values["project_id"], values.get("user_id"), values.get("consumer_type")


_BY_TYPE = Table(
    {"type": "string", "examples": ["INSTANCE"]},
    Json(
        {
            "title": "ConsumerTypeUsages",
            "type": "object",
            "properties": {"consumer_count": {"type": "integer"}},
            "required": ["consumer_count"],
            "additionalProperties": {"type": "integer"},
            "examples": [{"consumer_count": 3, "VCPU": 6, "MEMORY_MB": 12288}],
        }
    ),
)


def _together(by_type: Mapping[str, Usage]) -> Mapping[str, int]:
    return usages.total(by_type).amounts


def _by_type(by_type: Mapping[str, Usage]) -> Mapping[str, Mapping[str, int]]:
    return {
        name: {"consumer_count": usage.consumer_count, **usage.amounts}
        for name, usage in by_type.items()
    }


USAGES: Object[Mapping[str, Usage]] = Object(
    "Usages",
    Property("usages", AMOUNTS, _together),
    Property("usages", _BY_TYPE, _by_type, since="1.38"),
)


def show_usages(call: Call) -> Reply:
    """Show the usage of each resource class by a project, or by one of its users."""
    owner_and_type = parse_usage_query(pairs(call.query_string), call.version)
    with call.service.database.read() as conn:
        by_type = usages.get_for_project(conn, *owner_and_type)
    return Reply(200, by_type, changed_at=NOW)
