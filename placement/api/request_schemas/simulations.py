"""The body of a simulation, with changes of hosts and requests of consumers."""

from placement.api import samples
from placement.api.bodies import END, MAX_ITEMS, by_uuid, closed, sample
from placement.api.candidate_requests.schema import ORDER, REQUEST
from placement.api.json_body import Schema, path_of
from placement.api.operations.claims import SPREAD_GROUP
from placement.api.request_schemas.headroom import HEADROOM_REQUESTS
from placement.api.versioned import Versioned
from placement.candidates.simulation import MAX_ADDED, MAX_CONSUMERS

MAX_CHANGES = 1000

# A UUID, or `new:<number>` for a host that an earlier change has added.
_ROOT = sample(
    {
        "type": "string",
        "maxLength": 64,
        "pattern": f"^([0-9a-fA-F-]{{32,36}}|new:[1-9][0-9]{{0,4}}){END}",
        "description": "the UUID of a host, or new:N for the Nth host that the changes add",
    },
    samples.ROOT,
)
_ROOTS = {"type": "array", "minItems": 1, "maxItems": MAX_ITEMS, "items": _ROOT}
_COUNT = sample({"type": "integer", "minimum": 1, "maximum": MAX_ADDED}, 10)
CHANGE = {
    **closed(
        {},
        {
            "drain": _ROOTS,
            "remove": _ROOTS,
            "add": closed({"like": _ROOT}, {"count": _COUNT}, "AddedHosts"),
            "claim": closed(
                {"request": REQUEST}, {"spread_group": SPREAD_GROUP}, "SimulatedClaimRequest"
            ),
        },
        "Change",
    ),
    "minProperties": 1,
    "maxProperties": 1,
    "examples": [{"drain": [samples.ROOT]}],
}
RUN = Versioned(
    {
        "2.0": Schema(
            closed(
                {"changes": {"type": "array", "maxItems": MAX_CHANGES, "items": CHANGE}},
                {
                    "requests": {
                        **by_uuid(REQUEST, samples.CONSUMER),
                        "maxProperties": MAX_CONSUMERS,
                    },
                    "order": ORDER,
                    "headroom": HEADROOM_REQUESTS,
                },
                "SimulationRequest",
            ),
            path_of,
        )
    }
)
