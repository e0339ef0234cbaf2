"""Parts of the schemas of several bodies, and readers of names and UUIDs."""

from collections.abc import Iterable, Mapping
from typing import Any

from placement.api import samples
from placement.api.history import Versioned
from placement.api.json_body import Schema, path_of
from placement.api.keywords import CLASS_KEYS
from placement.api.shapes import Fragment
from placement.errors import BadBody, BadPath
from placement.objects import identifiers
from placement.vocabulary import CUSTOM_PREFIX, is_custom_name

# `$` alone would also match before a trailing newline.
END = r"$(?!\n)"

CLASS_NAME: Fragment = {
    "type": "string",
    "pattern": f"^[A-Z0-9_]+{END}",
    "description": "capital letters, digits and _",
    "maxLength": 255,
    "examples": ["VCPU"],
}
CUSTOM_NAME: Fragment = {
    "type": "string",
    "pattern": f"^{CUSTOM_PREFIX}[A-Z0-9_]+{END}",
    "description": f"{CUSTOM_PREFIX} and capital letters, digits and _",
    "maxLength": 255,
    "examples": [samples.CUSTOM_CLASS],
}
UUID_PATTERN = rf"^[0-9a-fA-F-]{{36}}{END}"
CLASS_PATTERN = rf"^[A-Z0-9_]{{1,255}}{END}"
GENERATION: Fragment = {
    "type": "integer",
    "description": "the generation that GET /resource_providers/{uuid} returns",
    "examples": [6],
}
# NUL is excluded because some databases cannot store it.
TEXT: Fragment = {"type": "string", "pattern": "^[^\\u0000]*$", "description": "text without NUL"}
OWNER: Fragment = {**TEXT, "minLength": 1, "maxLength": 255}
OFF: Fragment = {"type": "boolean", "default": False, "examples": [False]}
UUID_LIKE: Fragment = {"type": "string", "format": "uuid", "maxLength": 64}

# Maximum number of inventories, traits or aggregates of a provider, and of the providers of a
# consumer. The number of consumers is limited only by the size of the body.
MAX_ITEMS = 10_000


def by_uuid(value: Fragment, example: str) -> Fragment:
    """Return the schema of an object that maps UUIDs to values."""
    return _by_key(UUID_PATTERN, "a 'uuid' (names are not accepted)", example, value)


def by_class(value: Fragment) -> Fragment:
    """Return the schema of an object that maps resource classes to values."""
    return {**_by_key(CLASS_PATTERN, CLASS_KEYS, "VCPU", value), "maxProperties": MAX_ITEMS}


def _by_key(pattern: str, noun: str, example: str, value: Fragment) -> Fragment:
    """Return the schema of an object whose keys all have the same form."""
    return {
        "type": "object",
        "propertyNames": {"description": noun, "examples": [example]},
        "patternProperties": {pattern: value},
        "additionalProperties": False,
    }


def sample(fragment: Fragment, example: Any) -> Fragment:
    """Return the schema with an example for the OpenAPI document."""
    return {**fragment, "examples": [example]}


def choice(*names: str) -> Fragment:
    """Return the schema of one of several names."""
    return {"type": "string", "enum": [*names], "examples": [names[0]]}


def closed(
    required: Mapping[str, Any], optional: Mapping[str, Any] | None = None, title: str | None = None
) -> Fragment:
    """Return the schema of an object that allows no other members."""
    return {
        **({"title": title} if title else {}),
        "type": "object",
        "properties": {**required, **(optional or {})},
        "required": sorted(required),
        "additionalProperties": False,
    }


def custom_name(name: str, kind: str) -> str:
    """Return the name of a custom resource class or trait.

    Raises:
        BadPath: it is not a valid custom name.
    """
    if not is_custom_name(name):
        raise BadPath(f"{name!r}: a custom {kind} is named {CUSTOM_PREFIX}[A-Z0-9_]+")
    return name


def check_uuids(keys: Iterable[str], field: str) -> None:
    """Raise BadBody if a key is not a UUID, or if two keys are the same UUID."""
    key_by_uuid: dict[str, str] = {}
    for key in keys:
        uuid = identifiers.canonical(key)
        if uuid is None:
            raise BadBody(f"{field}: {key!r} is not a 'uuid'")
        if uuid in key_by_uuid:
            raise BadBody(f"{field}: {key_by_uuid[uuid]!r} and {key!r} are the same UUID")
        key_by_uuid[uuid] = key


def canonical_uuid(text: str) -> str:
    """Return the canonical form of a UUID that conforms to its schema."""
    uuid = identifiers.canonical(text)
    assert uuid is not None, "the schema allows UUIDs only"
    return uuid


def body_since_2(schema: Fragment) -> Versioned[Schema]:
    """Return the table of a body that 2.0 introduced. Errors contain paths in the form of code."""
    return Versioned({"2.0": Schema(schema, path_of)})
