"""The shapes of answers by version, for the document that describes the API.

Members that come with versions are those of the tables that render them.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from placement.api.render import allocations, candidates, providers
from placement.api.request_schemas.common import Fragment
from placement.api.versioned import Versioned
from placement.vocabulary import INVENTORY_AMOUNTS

INTEGER: Fragment = {"type": "integer"}
TEXT: Fragment = {"type": "string"}
TEXT_OR_NULL: Fragment = {"type": ["string", "null"]}
TEXTS: Fragment = {"type": "array", "items": TEXT}
COUNTS: Fragment = {"type": "object", "additionalProperties": INTEGER}
LINK: Fragment = {
    "type": "object",
    "required": ["rel", "href"],
    "properties": {"rel": TEXT, "href": TEXT},
    "additionalProperties": False,
}


def _whole(members: Mapping[str, Fragment]) -> Fragment:
    """An object with all of these members and no others."""
    return {
        "type": "object",
        "properties": members,
        "required": sorted(members),
        "additionalProperties": False,
    }


def _table(of: Fragment) -> Fragment:
    return {"type": "object", "additionalProperties": of}


def _chosen(members: Mapping[str, Fragment], names: Sequence[str]) -> Fragment:
    return _whole({name: members[name] for name in names})


def always(shape: Fragment) -> Versioned[Fragment]:
    """The same shape at every version."""
    return Versioned({"1.0": shape})


# -- resource providers and what they have --------------------------------------------------

GENERATION = {"resource_provider_generation": INTEGER}
PROVIDER = providers.FIELDS.map(
    lambda names: _chosen(
        {
            "uuid": TEXT,
            "name": TEXT,
            "generation": INTEGER,
            "links": {"type": "array", "items": LINK},
            "parent_provider_uuid": TEXT_OR_NULL,
            "root_provider_uuid": TEXT,
        },
        names,
    )
)
PROVIDERS = PROVIDER.map(
    lambda one: _whole({"resource_providers": {"type": "array", "items": one}})
)
RECORD = {**dict.fromkeys(INVENTORY_AMOUNTS, INTEGER), "allocation_ratio": {"type": "number"}}
INVENTORY = always(_whole({**RECORD, **GENERATION}))
INVENTORIES = always(_whole({**GENERATION, "inventories": _table(_whole(RECORD))}))
PROVIDER_USAGES = always(_whole({**GENERATION, "usages": COUNTS}))
PROVIDER_TRAITS = always(_whole({**GENERATION, "traits": TEXTS}))
AGGREGATES = Versioned(
    {"1.1": _whole({"aggregates": TEXTS}), "1.19": _whole({**GENERATION, "aggregates": TEXTS})}
)
PROVIDER_ALLOCATIONS = allocations.ON_PROVIDER.map(
    lambda names: _whole(
        {
            **GENERATION,
            "allocations": _table(
                _chosen({"resources": COUNTS, "consumer_generation": INTEGER}, names)
            ),
        }
    )
)

# -- names ----------------------------------------------------------------------------------

RESOURCE_CLASS = always(_whole({"name": TEXT, "links": {"type": "array", "items": LINK}}))
RESOURCE_CLASSES = RESOURCE_CLASS.map(
    lambda one: _whole({"resource_classes": {"type": "array", "items": one}})
)
TRAITS = always(_whole({"traits": TEXTS}))

# -- consumers ------------------------------------------------------------------------------

ALLOCATIONS: Versioned[Fragment] = allocations.CONSUMER.map(
    lambda names: {
        **_chosen(
            {
                "allocations": _table(_whole({"generation": INTEGER, "resources": COUNTS})),
                "project_id": TEXT,
                "user_id": TEXT,
                "consumer_generation": INTEGER,
                "consumer_type": TEXT,
            },
            names,
        ),
        # A consumer without allocations shows nothing else.
        "required": ["allocations"],
    }
)
USAGES = Versioned({"1.9": _whole({"usages": COUNTS}), "1.38": _whole({"usages": _table(COUNTS)})})

# -- candidates -----------------------------------------------------------------------------

_AMOUNTS = _whole({"resources": COUNTS})
_LISTED = {
    "type": "array",
    "items": _whole({"resource_provider": _whole({"uuid": TEXT}), "resources": COUNTS}),
}
_REQUEST = Versioned(
    {
        "1.10": _whole({"allocations": _LISTED}),
        "1.12": _whole({"allocations": _table(_AMOUNTS)}),
        "1.34": _whole({"allocations": _table(_AMOUNTS), "mappings": _table(TEXTS)}),
    }
)
_SUMMARY = candidates.SUMMARY.map(
    lambda names: _chosen(
        {
            "resources": _table(_whole({"capacity": INTEGER, "used": INTEGER})),
            "traits": TEXTS,
            "parent_provider_uuid": TEXT_OR_NULL,
            "root_provider_uuid": TEXT,
        },
        names,
    )
)
CANDIDATES = Versioned(
    {
        since: _whole(
            {
                "allocation_requests": {"type": "array", "items": _REQUEST.at_since(since)},
                "provider_summaries": _table(_SUMMARY.at_since(since)),
            }
        )
        for since in ("1.10", "1.12", "1.17", "1.29", "1.34")
    }
)

# -- the service itself ---------------------------------------------------------------------

VERSIONS = always(
    _whole(
        {
            "versions": {
                "type": "array",
                "items": _whole(
                    {
                        "id": TEXT,
                        "max_version": TEXT,
                        "min_version": TEXT,
                        "status": TEXT,
                        "links": {"type": "array", "items": LINK},
                    }
                ),
            }
        }
    )
)
HEALTH = always(_whole({"status": TEXT}))

ERROR: Mapping[str, Any] = _whole(
    {
        "errors": {
            "type": "array",
            "minItems": 1,
            "maxItems": 1,
            "items": {
                "type": "object",
                "properties": {
                    "status": INTEGER,
                    "title": TEXT,
                    "detail": TEXT,
                    "request_id": TEXT,
                    "code": TEXT,
                    "max_version": TEXT,
                    "min_version": TEXT,
                },
                "required": ["status", "title", "detail", "request_id"],
                "additionalProperties": False,
            },
        }
    }
)
