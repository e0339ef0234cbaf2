"""Body of a whole tree of providers."""

from placement.api.bodies import GENERATION, by_class, closed, sample
from placement.api.json_body import Schema, path_of
from placement.api.operations import aggregates, inventories, traits
from placement.api.request_schemas import providers
from placement.api.shapes import Fragment
from placement.api.versioned import Versioned

MAX_PROVIDERS = 1000
# Maximum number of inventories, traits and aggregates of all providers of a tree. A write of so
# many takes about one second of CPU time.
MAX_PARTS = 50_000
# Maximum number of different custom names in a request that may create them. The creation of so
# many takes about one second of CPU time.
MAX_NEW_NAMES = 10_000


def _edit_schema(names: Fragment) -> Fragment:
    """Return the schema of a complete list of names, or of names to add and names to remove."""
    lists = {"add": names, "remove": names}
    types = ["array", "object"]
    example = {"add": names["items"]["examples"], "remove": []}
    either = {**names, "type": types, "properties": lists, "additionalProperties": False}
    return sample(either, example)


NEW_RECORD = closed(inventories.TOTAL, inventories.OPTIONAL, "TreeInventory")
NEW_PROVIDER = closed(
    {"uuid": providers.NEW_UUID, **providers.NEW, **providers.NESTED},
    {
        "generation": sample({**GENERATION, "type": ["integer", "null"]}, 6),
        "inventories": by_class(NEW_RECORD),
        "traits": _edit_schema(traits.NEW_NAMES),
        "aggregates": _edit_schema(aggregates.NEW_UUIDS),
    },
    "TreeProvider",
)
PUT = Versioned(
    {
        "2.0": Schema(
            closed(
                {
                    "providers": {
                        "type": "array",
                        "minItems": 1,
                        "maxItems": MAX_PROVIDERS,
                        "items": NEW_PROVIDER,
                        "description": "All providers together may have "
                        f"{MAX_PARTS:,} inventories, traits and aggregates.",
                    }
                },
                {
                    "prune": sample({"type": "boolean"}, example=False),
                    "create_names": {
                        **sample({"type": "boolean"}, example=False),
                        "description": "With true, the body may contain "
                        f"{MAX_NEW_NAMES:,} different custom names.",
                    },
                },
                "NewProviderTree",
            ),
            path_of,
        )
    }
)
