"""Bodies of claims: for one consumer or several."""

from placement.api import samples
from placement.api.json_body import EitherSchema, Schema, path_of
from placement.api.request_schemas.allocations import OWNED
from placement.api.request_schemas.candidates import FIRST_AVAILABLE, REQUEST
from placement.api.request_schemas.common import CLASS_NAME, UUID_LIKE, closed, sample
from placement.api.shapes import Fragment
from placement.api.versioned import Versioned

# Each claim takes a search.
MAX_CLAIMS = 1000


def _claim(request: Fragment, title: str) -> Fragment:
    """Return the schema of a claim with a request of one form."""
    return closed(
        {
            "request": request,
            "consumer_uuid": sample(UUID_LIKE, samples.CONSUMER),
            **OWNED,
            "consumer_type": sample(CLASS_NAME, "INSTANCE"),
        },
        {"consumer_generation": {"type": "null", "examples": [None]}},
        title,
    )


CLAIM = _claim(REQUEST, "NewClaim")
FIRST_AVAILABLE_CLAIM = _claim(FIRST_AVAILABLE, "NewFirstAvailableClaim")
CLAIMS = closed(
    {"claims": {"type": "array", "minItems": 1, "maxItems": MAX_CLAIMS, "items": CLAIM}},
    title="NewClaims",
)
ONE: Schema = EitherSchema(
    Schema(CLAIM, path_of),
    Schema(FIRST_AVAILABLE_CLAIM, path_of),
    "first_available",
    within="request",
)
ONE_OR_MANY: Schema = EitherSchema(ONE, Schema(CLAIMS, path_of), "claims")
CREATE = Versioned({"2.0": ONE_OR_MANY})
