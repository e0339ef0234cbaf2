"""Responses about the usages of projects and users."""

from collections.abc import Mapping

from placement.api.members import AMOUNTS
from placement.api.shapes import Json, Object, Property, Table
from placement.objects import usages
from placement.objects.usages import Usage

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
