"""Bodies of claims for one consumer or several."""

from placement.api import samples
from placement.api.bodies import CLASS_NAME, END, UUID_LIKE, closed, sample
from placement.api.candidate_requests.schema import FIRST_AVAILABLE, REQUEST
from placement.api.json_body import EitherSchema, Schema, path_of
from placement.api.operations.allocation_bodies import OWNED
from placement.api.shapes import Fragment
from placement.api.versioned import Versioned
from placement.vocabulary import MAX_INTEGER

# Each claim requires a search.
MAX_CLAIMS = 1000


# Maximum duration of a hold, in seconds.
MAX_EXPIRES_IN = 86_400
EXPIRES_IN = {
    "type": "integer",
    "minimum": 1,
    "maximum": MAX_EXPIRES_IN,
    "examples": [600],
}
SPREAD_GROUP = closed(
    {
        "name": {
            "type": "string",
            "pattern": f"^[A-Za-z0-9_.:-]{{1,64}}{END}",
            "description": "1 to 64 letters, digits and _ . : -",
            "maxLength": 64,
            "examples": ["web"],
        },
        "max_per_host": {"type": "integer", "minimum": 1, "maximum": MAX_INTEGER, "examples": [1]},
    },
    title="SpreadGroupOfClaim",
)
_GENERATION = {"consumer_generation": {"type": "null", "examples": [None]}}
_NEW_CONSUMER = {
    "consumer_uuid": sample(UUID_LIKE, samples.CONSUMER),
    **OWNED,
    "consumer_type": sample(CLASS_NAME, "INSTANCE"),
}


def _claim_schema(request: Fragment, title: str) -> Fragment:
    """Return the schema of a claim with a request of one form."""
    return closed(
        {
            "request": request,
            **_NEW_CONSUMER,
        },
        {
            **_GENERATION,
            "remember": {"type": "boolean", "examples": [True]},
            "spread_group": SPREAD_GROUP,
            "expires_in": EXPIRES_IN,
        },
        title,
    )


NEW_CLAIM = _claim_schema(REQUEST, "NewClaim")
FIRST_AVAILABLE_CLAIM = _claim_schema(FIRST_AVAILABLE, "NewFirstAvailableClaim")
NEW_CLAIMS = closed(
    {"claims": {"type": "array", "minItems": 1, "maxItems": MAX_CLAIMS, "items": NEW_CLAIM}},
    title="NewClaims",
)
ONE: Schema = EitherSchema(
    Schema(NEW_CLAIM, path_of),
    Schema(FIRST_AVAILABLE_CLAIM, path_of),
    "first_available",
    within="request",
)
FROM_HOLD = closed(
    {"from_hold": sample(UUID_LIKE, samples.HOLD), **_NEW_CONSUMER}, _GENERATION, "ClaimFromHold"
)
NEW_OR_HELD: Schema = EitherSchema(ONE, Schema(FROM_HOLD, path_of), "from_hold")
ONE_OR_MANY: Schema = EitherSchema(NEW_OR_HELD, Schema(NEW_CLAIMS, path_of), "claims")
CREATE = Versioned({"2.0": ONE_OR_MANY})
