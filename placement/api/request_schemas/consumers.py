"""Bodies about consumers: remembered requests, and decisions about holds."""

from placement.api.json_body import Schema, path_of
from placement.api.request_schemas.candidates import REQUEST
from placement.api.request_schemas.claims import EXPIRES_IN
from placement.api.request_schemas.common import closed
from placement.api.versioned import Versioned

REMEMBER = Versioned({"2.0": Schema(REQUEST, path_of)})
HOLD = Versioned(
    {
        "2.0": Schema(
            closed({"expires_in": {**EXPIRES_IN, "type": ["integer", "null"]}}, title="HoldEnd"),
            path_of,
        )
    }
)
