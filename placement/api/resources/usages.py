"""`/usages` (contract resources.md section 6.2)."""

from collections.abc import Callable, Mapping
from typing import Any

from placement.api import query
from placement.api.handler import NOW, Call, Reply
from placement.api.versioned import Versioned
from placement.objects import usages
from placement.objects.usages import Usage


def show(call: Call) -> Reply:
    """What a project, or a user of it, consumes, by type of consumer."""
    asked = query.parse_usage_query(query.pairs(call.query_string), call.version)
    with call.service.database.read() as conn:
        found = usages.of_project(conn, asked.project, asked.user, asked.consumer_type)
    return Reply(200, {"usages": USAGES.at(call.version)(found)}, changed_at=NOW)


def _together(found: Mapping[str, Usage]) -> Mapping[str, int]:
    return usages.total(found).amounts


def _by_type(found: Mapping[str, Usage]) -> Mapping[str, Mapping[str, int]]:
    return {
        name: {"consumer_count": usage.consumer_count, **usage.amounts}
        for name, usage in found.items()
    }


USAGES: Versioned[Callable[[Mapping[str, Usage]], Mapping[str, Any]]] = Versioned(
    {"1.9": _together, "1.38": _by_type}
)
