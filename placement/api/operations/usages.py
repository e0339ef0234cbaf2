"""`/usages`."""

import re
from collections.abc import Mapping

from placement.api.handler import NOW, Call, Reply
from placement.api.history import Microversion
from placement.api.members import AMOUNTS
from placement.api.parameters import Pairs, Parameter, bad, last_values, matching, pairs
from placement.api.shapes import Json, Object, Property, Table
from placement.objects import usages
from placement.objects.usages import Usage

CONSUMER_TYPE = "([A-Z0-9_]+|all|unknown)"
_CONSUMER_TYPE = re.compile(rf"{CONSUMER_TYPE}\Z", re.ASCII)

PARAMETERS: Mapping[str, Parameter] = {
    "project_id": Parameter("1.9", "The project.", matching(".{1,255}"), required=True),
    "user_id": Parameter("1.9", "A user; only its usage is shown.", matching(".{1,255}")),
    "consumer_type": Parameter(
        "1.38",
        "A type of consumers, `unknown` for consumers without a type, or `all` for one sum.",
        matching(CONSUMER_TYPE),
    ),
}


def parse_usage_query(query: Pairs, version: Microversion) -> tuple[str, str | None, str | None]:
    """Return the project, the user and the type of the consumers.

    None means all users, and one sum over all types (below 1.38). Raises BadQuery.
    """
    values = last_values(query, PARAMETERS, version)
    for key, value in values.items():
        if not 1 <= len(value) <= 255:
            raise bad(key, value, "expected 1 to 255 characters")
    consumer_type = values.get("consumer_type")
    if consumer_type is not None and not _CONSUMER_TYPE.match(consumer_type):
        raise bad(
            "consumer_type", consumer_type, "expected a type in capital letters, or all, or unknown"
        )
    return values["project_id"], values.get("user_id"), consumer_type


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
