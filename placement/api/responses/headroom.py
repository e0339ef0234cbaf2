"""Answers with headroom: how many more consumers of each request fit."""

from collections.abc import Mapping
from operator import attrgetter

from placement.api.members import UUID_KEY
from placement.api.responses.explanations import GROUP, MEANING
from placement.api.shapes import Array, Json, Object, Property, Shape, Table, itself
from placement.candidates import Headroom
from placement.candidates.explanation import CODES
from placement.candidates.headroom import Figures, LimitedHosts

_NUMBERS = {"fits": 412, "at_most": 412, "hosts": 97, "largest": 16}
_SHAPES: Mapping[str, Shape] = {
    name: Json({"type": "integer", "minimum": 0, "examples": [number]})
    for name, number in _NUMBERS.items()
} | {name: Json({"type": "boolean", "examples": [True]}) for name in ("exact", "complete")}
_FIGURES = ("fits", "at_most", "exact", "complete", "hosts", "largest")


def _figures(of: str = "") -> list[Property]:
    """Return the properties with the figures of an attribute, or of the value itself."""
    return [Property(name, _SHAPES[name], attrgetter(f"{of}{name}")) for name in _FIGURES]


_LIMITED: Object[LimitedHosts] = Object(
    "LimitedHosts",
    Property(
        "code",
        Json(
            {
                "type": "string",
                "enum": [str(code) for code in CODES],
                "examples": ["capacity"],
            }
        ),
        attrgetter("limit.code"),
    ),
    Property("group", Json(GROUP), attrgetter("limit.group")),
    Property(
        "resource_class",
        Json({"type": ["string", "null"], "examples": ["MEMORY_MB"]}),
        attrgetter("limit.resource_class"),
    ),
    Property("meaning", MEANING, attrgetter("limit.code.meaning")),
    Property("hosts", Json({"type": "integer", "examples": [80]})),
)
_OF_AGGREGATE: Object[Figures] = Object("AggregateHeadroom", *_figures())
HEADROOM: Object[Headroom] = Object(
    "Headroom",
    *_figures("total."),
    Property("limited_by", Array(_LIMITED)),
    Property("by", Table(UUID_KEY, _OF_AGGREGATE)),
)
# Name of a request -> its headroom.
BY_REQUEST = Table({"type": "string", "examples": ["m1.large"]}, HEADROOM)
HEADROOMS: Object[Mapping[str, Headroom]] = Object(
    "Headrooms", Property("headroom", BY_REQUEST, itself)
)
