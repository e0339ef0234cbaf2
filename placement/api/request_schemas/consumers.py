"""Bodies about consumers: remembered requests, spread groups, and decisions about holds."""

from placement.api.bodies import closed
from placement.api.candidate_requests.schema import REQUEST
from placement.api.json_body import Schema, path_of
from placement.api.request_schemas.claims import EXPIRES_IN, SPREAD_GROUP
from placement.api.versioned import Versioned

REMEMBER = Versioned({"2.0": Schema(REQUEST, path_of)})
JOIN = Versioned({"2.0": Schema(SPREAD_GROUP, path_of)})
HOLD = Versioned(
    {
        "2.0": Schema(
            closed({"expires_in": {**EXPIRES_IN, "type": ["integer", "null"]}}, title="HoldEnd"),
            path_of,
        )
    }
)
