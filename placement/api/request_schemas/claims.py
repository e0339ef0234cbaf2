"""Bodies of claims: one, or several that belong together."""

from placement.api import samples
from placement.api.json_body import EitherSchema, Schema, path_of
from placement.api.request_schemas.allocations import OWNED
from placement.api.request_schemas.candidates import REQUEST
from placement.api.request_schemas.common import CLASS_NAME, UUID_LIKE, closed, sample
from placement.api.versioned import Versioned

# Each is a search of its own.
MOST_CLAIMS = 1000

CLAIM = closed(
    {
        "request": REQUEST,
        "consumer_uuid": sample(UUID_LIKE, samples.CONSUMER),
        **OWNED,
        "consumer_type": sample(CLASS_NAME, "INSTANCE"),
    },
    {"consumer_generation": {"type": "null", "examples": [None]}},
    "NewClaim",
)
CLAIMS = closed(
    {"claims": {"type": "array", "minItems": 1, "maxItems": MOST_CLAIMS, "items": CLAIM}},
    title="NewClaims",
)
ONE_OR_MANY: Schema = EitherSchema(Schema(CLAIM, path_of), Schema(CLAIMS, path_of), "claims")
CREATE = Versioned({"2.0": ONE_OR_MANY})
