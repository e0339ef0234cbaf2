"""`/headroom`."""

from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import Any

from placement.api.bodies import END, OFF, body_since_2, closed, path_of, sample
from placement.api.candidate_requests.json_form import read_candidates
from placement.api.candidate_requests.schema import AGGREGATE, BARE_REQUEST
from placement.api.handler import NOW, Call, Reply
from placement.api.members import UUID_KEY
from placement.api.operations.explanations import CODE, GROUP, MEANING
from placement.api.shapes import Array, Json, Object, Property, Shape, Table, itself
from placement.errors import BadQuery
from placement.foresight.headroom import (
    Figures,
    Headroom,
    HeadroomQuery,
    LimitedHosts,
    find_headroom,
)
from placement.runtime import deadline

MAX_REQUESTS = 100
MAX_BY = 100
MAX_LIMIT = 1_000_000
DEFAULT_LIMIT = 10_000

# The reader of the requests refuses all other characters that are not printable.
REQUEST_NAME = rf"^[^\x00-\x1f\x7f-\x9f]{{1,255}}{END}"
HEADROOM_REQUESTS = closed(
    {
        "requests": {
            "type": "object",
            "propertyNames": {
                "description": "a name of 1 to 255 printable characters",
                "examples": ["m1.large"],
            },
            "patternProperties": {REQUEST_NAME: BARE_REQUEST},
            "additionalProperties": False,
            "minProperties": 1,
            "maxProperties": MAX_REQUESTS,
        }
    },
    {
        "limit": sample(
            {"type": "integer", "minimum": 1, "maximum": MAX_LIMIT, "default": DEFAULT_LIMIT}, 1000
        ),
        "by": {"type": "array", "items": AGGREGATE, "maxItems": MAX_BY},
        "empty": OFF,
    },
    "HeadroomRequests",
)
MEASURE = body_since_2(HEADROOM_REQUESTS)

# Maximum of `requests × (aggregates + 1)`.
MAX_FIGURES = 1000


def read_headroom(body: Mapping[str, Any], within: Sequence[str | int] = ()) -> HeadroomQuery:
    """Read a body that conforms to its schema.

    Args:
        body: the requests, and what to report.
        within: path of the body, if it is a part of another one.

    Raises:
        BadQuery: a request is invalid, a name is not printable, or too many figures are asked.
    """
    requests = body["requests"]
    by = body.get("by", ())
    for name in requests:
        if not name.isprintable():
            where = path_of((*within, "requests"))
            raise BadQuery(f"{where}: {name!r} has a character that is not printable")
    if len(requests) * (1 + len(by)) > MAX_FIGURES:
        raise BadQuery(
            f"{path_of((*within, 'by'))}: {len(requests)} requests for {len(by)} aggregates and "
            f"for all hosts are more than {MAX_FIGURES} results"
        )
    return HeadroomQuery(
        {
            name: read_candidates(request, (*within, "requests", name))
            for name, request in requests.items()
        },
        int(body.get("limit", DEFAULT_LIMIT)),
        tuple(dict.fromkeys(by)),
        bool(body.get("empty", False)),
    )


_NUMBERS = {"fits": 412, "hosts": 97, "largest": 16}
_SHAPES: Mapping[str, Shape] = (
    {name: Json.of("integer", number, minimum=0) for name, number in _NUMBERS.items()}
    | {"at_most": Json.of(["integer", "null"], 412, minimum=0)}
    | {name: Json.of("boolean", True) for name in ("exact", "complete")}
)
_FIGURES = ("fits", "at_most", "exact", "complete", "hosts", "largest")


def _figures(of: str = "") -> list[Property]:
    """Return the properties with the figures of an attribute, or of the value itself."""
    return [Property(name, _SHAPES[name], attrgetter(f"{of}{name}")) for name in _FIGURES]


_LIMITED: Object[LimitedHosts] = Object(
    "LimitedHosts",
    Property("code", CODE, attrgetter("limit.code")),
    Property("group", Json(GROUP), attrgetter("limit.group")),
    Property(
        "resource_class",
        Json.of(["string", "null"], "MEMORY_MB"),
        attrgetter("limit.resource_class"),
    ),
    Property("meaning", MEANING, attrgetter("limit.code.meaning")),
    Property("hosts", Json.of("integer", 80)),
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


def measure_headroom(call: Call) -> Reply:
    """Measure how many more consumers of each request fit.

    All requests are measured in one snapshot, independently of each other. `fits` consumers were
    placed one after another, and no placement exceeds `at_most`. If both are equal, `exact` is
    true. If `fits` reaches the limit, more may fit, and `at_most` is null. `limited_by` counts
    hosts by the condition that prevents one more consumer on a full host.
    Nothing is changed.
    """
    service = call.service
    query = read_headroom(call.body)
    with service.large_work.turn(), service.database.read_trees() as conn:
        headroom = find_headroom(
            conn, service.trees, query, service.settings.candidates, service.tuning
        )
    deadline.lift()  # the result is partial if the deadline ended the measurement
    return Reply(200, headroom, changed_at=NOW)
