"""Parts of schemas that several bodies share."""

from collections.abc import Mapping
from typing import Any

from placement.api import samples
from placement.api.keywords import CLASS_KEYS
from placement.api.shapes import Fragment
from placement.vocabulary import CUSTOM_PREFIX

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
UUID_KEY = rf"^[0-9a-fA-F-]{{36}}{END}"
CLASS_KEY = rf"^[A-Z0-9_]{{1,255}}{END}"
GENERATION: Fragment = {"type": "integer", "examples": [6]}
# NUL is excluded because some databases cannot store it.
TEXT: Fragment = {"type": "string", "pattern": "^[^\\u0000]*$", "description": "text without NUL"}
OWNER: Fragment = {**TEXT, "minLength": 1, "maxLength": 255}
UUID_LIKE: Fragment = {"type": "string", "format": "uuid", "maxLength": 64}

# Maximum number of inventories, traits or aggregates of a provider, and of the providers of a
# consumer. The number of consumers is limited only by the size of the body.
MAX_ITEMS = 10_000


def by_uuid(value: Fragment, example: str) -> Fragment:
    """Return the schema of an object that maps UUIDs to values."""
    return _by_key(UUID_KEY, "a 'uuid'", example, value)


def by_class(value: Fragment) -> Fragment:
    """Return the schema of an object that maps resource classes to values."""
    return {**_by_key(CLASS_KEY, CLASS_KEYS, "VCPU", value), "maxProperties": MAX_ITEMS}


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


def closed(
    required: Mapping[str, Any],
    optional: Mapping[str, Any] | None = None,
    title: str | None = None,
) -> Fragment:
    """Return the schema of an object that allows no other members."""
    return {
        **({"title": title} if title else {}),
        "type": "object",
        "properties": {**required, **(optional or {})},
        "required": sorted(required),
        "additionalProperties": False,
    }
