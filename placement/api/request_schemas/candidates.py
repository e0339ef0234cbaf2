"""The body of a request for allocation candidates."""

from placement.api import samples
from placement.api.json_body import Schema, path_of
from placement.api.request_schemas.common import (
    CLASS_NAME,
    END,
    MOST,
    UUID_LIKE,
    by_class,
    closed,
    sample,
)
from placement.api.shapes import Fragment
from placement.api.versioned import Versioned

TRAIT = sample(CLASS_NAME, "HW_CPU_X86_AVX2")
AGGREGATE = sample(UUID_LIKE, samples.AGGREGATE)
PROVIDER = sample(UUID_LIKE, samples.PROVIDER)
SUFFIX_KEY = rf"^([a-zA-Z0-9_-]{{1,64}})?{END}"
SUFFIX = {"type": "string", "maxLength": 64, "examples": ["_NIC"]}


def _list(item: Fragment) -> Fragment:
    return {"type": "array", "items": item, "maxItems": MOST}


def _terms(name: Fragment) -> Fragment:
    """Return the schema of names all of which count; a list among them is any of its names.

    Such a list has a name: no provider has any of none.
    """
    return _list({**name, "type": ["string", "array"], "items": name, "minItems": 1})


TERMS = {
    "required": _terms(TRAIT),
    "forbidden": _list(TRAIT),
    "member_of": _terms(AGGREGATE),
    "not_member_of": _list(AGGREGATE),
}
GROUP = closed(
    {},
    {
        "resources": by_class({"type": "integer", "minimum": 1, "examples": [4]}),
        **TERMS,
        "in_tree": PROVIDER,
        "subtree": PROVIDER,
        "can_split": _list(sample(CLASS_NAME, "VCPU")),
    },
    "RequestGroup",
)
GROUPS = {
    "type": "object",
    "propertyNames": {"description": "the suffix of a request group", "examples": [""]},
    "patternProperties": {SUFFIX_KEY: GROUP},
    "additionalProperties": False,
}
_MEMBERS = {
    "same_subtree": _list(closed({}, {"of": _list(SUFFIX), "not": _list(SUFFIX)}, "SubtreeRule")),
    "isolate": _list(SUFFIX),
    "group_policy": {
        "type": "string",
        "pattern": f"^(none|isolate){END}",
        "maxLength": 7,
        "examples": ["none"],
    },
    "root": closed({}, TERMS, "RootTerms"),
    "limit": {"type": "integer", "minimum": 1, "examples": [10]},
}
EXPLAIN = {
    "type": "string",
    "pattern": f"^(summary|providers){END}",
    "maxLength": 9,
    "examples": ["summary"],
}
REQUEST = closed({"groups": GROUPS}, _MEMBERS, "CandidateRequest")
FIND = Versioned(
    {
        "2.0": Schema(
            closed({"groups": GROUPS}, {**_MEMBERS, "explain": EXPLAIN}, "ExplainedRequest"),
            path_of,
        )
    }
)
