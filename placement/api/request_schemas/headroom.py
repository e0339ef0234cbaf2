"""The body of a request for headroom."""

from placement.api.bodies import END, closed
from placement.api.candidate_requests.schema import AGGREGATE, BARE_REQUEST
from placement.api.json_body import Schema, path_of
from placement.api.versioned import Versioned

MAX_REQUESTS = 100
MAX_BY = 100
MAX_LIMIT = 1_000_000

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
        "limit": {"type": "integer", "minimum": 1, "maximum": MAX_LIMIT, "examples": [1000]},
        "by": {"type": "array", "items": AGGREGATE, "maxItems": MAX_BY},
        "empty": {"type": "boolean", "examples": [False]},
    },
    "HeadroomRequests",
)
MEASURE: Versioned[Schema] = Versioned({"2.0": Schema(HEADROOM_REQUESTS, path_of)})
