"""The body of a request for allocation candidates."""

from collections.abc import Iterable

from placement.api import samples
from placement.api.bodies import (
    CLASS_NAME,
    END,
    MAX_ITEMS,
    UUID_LIKE,
    EitherSchema,
    Schema,
    by_class,
    choice,
    closed,
    path_of,
    sample,
)
from placement.api.history import Versioned
from placement.api.shapes import Fragment
from placement.candidates.terms import GROUP_TERMS, ROOT_TERMS, Term

# In queries, prefixes state what lists and members state here.
TRAIT = {
    **sample(CLASS_NAME, "HW_CPU_X86_AVX2"),
    "description": (
        "the name of a trait without ! or in:, because `forbidden` contains forbidden traits, and "
        "a list in `required` means one of its traits"
    ),
}
AGGREGATE = sample(UUID_LIKE, samples.AGGREGATE)
_AGGREGATE_TERM = {
    **AGGREGATE,
    "description": (
        "a UUID without ! or in:, because `not_member_of` contains forbidden aggregates, and a "
        "list in `member_of` means one of its aggregates"
    ),
}
PROVIDER = sample(UUID_LIKE, samples.PROVIDER)
SUFFIX_KEY = rf"^([a-zA-Z0-9_-]{{1,64}})?{END}"
SUFFIX = {"type": "string", "maxLength": 64, "examples": ["_NIC"]}


def _list(item: Fragment) -> Fragment:
    return {"type": "array", "items": item, "maxItems": MAX_ITEMS}


def _terms(name: Fragment) -> Fragment:
    """Return the schema of required names, where a nested list matches any of its names.

    A nested list must not be empty, because no provider could match an empty list.
    """
    return _list(
        {**name, "type": ["string", "array"], "items": name, "minItems": 1, "maxItems": MAX_ITEMS}
    )


_NAMES = {"trait": TRAIT, "aggregate": _AGGREGATE_TERM, "tree": PROVIDER}


def _members(kinds: Iterable[type[Term]]) -> dict[str, Fragment]:
    """Return the members for terms of these classes."""
    members: dict[str, Fragment] = {}
    for kind in kinds:
        name = _NAMES[kind.name_kind]
        if kind.is_listed:
            name = _list(name) if kind.excludes else _terms(name)
        members[kind.keyword] = name
    return members


GROUP = closed(
    {},
    {
        "resources": by_class({"type": "integer", "minimum": 1, "examples": [4]}),
        **_members(GROUP_TERMS),
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
    "same_subtree": _list(
        sample(
            closed({}, {"of": _list(SUFFIX), "not": _list(SUFFIX)}, "SubtreeRule"), {"of": ["_NIC"]}
        )
    ),
    "isolate": _list(SUFFIX),
    "group_policy": choice("none", "isolate"),
    "root": closed({}, _members(ROOT_TERMS), "RootTerms"),
    "limit": {"type": "integer", "minimum": 1, "examples": [10]},
    "tolerate": _list(sample(CLASS_NAME, "CUSTOM_MAINTENANCE")),
}
EXPLAIN = choice("summary", "providers")
# A request without limit and order, because its candidates are not listed.
BARE_REQUEST = closed(
    {"groups": GROUPS},
    {name: schema for name, schema in _MEMBERS.items() if name != "limit"},
    "BareRequest",
)
MAX_ORDER_KEYS = 8
_ORDER_KEY = {"by": "free", "resource_class": "VCPU", "first": "most"}
ORDER: Fragment = {
    "type": "array",
    "maxItems": MAX_ORDER_KEYS,
    "items": sample(
        closed(
            {
                "by": choice("free", "trait", "aggregate"),
                "first": {
                    **choice("most", "least", "with", "without"),
                    "description": (
                        "most or least (of what is free), or with or without (the others)"
                    ),
                },
            },
            {
                "resource_class": sample(CLASS_NAME, "VCPU"),
                "name": sample(CLASS_NAME, "HW_CPU_X86_AVX2"),
                "uuid": AGGREGATE,
            },
            "OrderKey",
        ),
        _ORDER_KEY,
    ),
    "examples": [[_ORDER_KEY]],
}
# The option `[placement] order`.
CONFIGURED_ORDER = Schema(ORDER, lambda steps: path_of(("order", *steps)))
MAX_ALTERNATIVES = 8
_ALTERNATIVE = {**BARE_REQUEST, "title": "Alternative"}
_MEMBERS["order"] = ORDER
REQUEST = closed({"groups": GROUPS}, _MEMBERS, "CandidateRequest")
# Alternative requests. The service uses the first one that has a candidate.
FIRST_AVAILABLE = closed(
    {
        "first_available": {
            "type": "array",
            "items": _ALTERNATIVE,
            "minItems": 1,
            "maxItems": MAX_ALTERNATIVES,
        }
    },
    {"limit": _MEMBERS["limit"], "order": ORDER},
    "FirstAvailable",
)
EXPLAINED = closed({"groups": GROUPS}, {**_MEMBERS, "explain": EXPLAIN}, "ExplainedRequest")
FIND: Versioned[Schema] = Versioned(
    {
        "2.0": EitherSchema(
            Schema(EXPLAINED, path_of), Schema(FIRST_AVAILABLE, path_of), "first_available"
        )
    }
)
