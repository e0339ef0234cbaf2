"""The JSON schema of a cloud file, and what it refuses in words that fit YAML."""

from collections.abc import Iterator
from difflib import get_close_matches
from typing import Any

import jsonschema

from placement.loader.document import Document
from placement.loader.expansion import LONGEST_NAME, MAX_PROVIDERS
from placement.loader.naming import UUID_PATTERN
from placement.loader.problems import Problem, Steps, shown
from placement.vocabulary import MAX_INTEGER

AGGREGATE_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9_.:-]*\Z"


def _whole(minimum: int, maximum: int = MAX_INTEGER) -> dict[str, Any]:
    return {"type": "integer", "minimum": minimum, "maximum": maximum}


def _names(title: str, pattern: str, longest: int) -> dict[str, Any]:
    """Return a schema of names; messages say that a name which fails is not `title`."""
    return {
        "type": "string",
        "minLength": 1,
        "maxLength": longest,
        "pattern": pattern,
        "title": title,
    }


# Branching on the type, not "anyOf": messages then speak of the form that was written.
SCHEMA: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "additionalProperties": False,
    "required": ["providers"],
    "properties": {
        "aggregates": {
            "type": "object",
            "propertyNames": {"$ref": "#/$defs/aggregate"},
            "additionalProperties": {"$ref": "#/$defs/uuid"},
        },
        "providers": {"type": "array", "items": {"$ref": "#/$defs/provider"}},
    },
    "$defs": {
        "uuid": _names("a UUID", UUID_PATTERN, 36),
        "aggregate": _names("an aggregate name (letters, digits, _ . : -)", AGGREGATE_PATTERN, 200),
        "provider": {
            "type": "object",
            "additionalProperties": False,
            "required": ["name"],
            "properties": {
                "name": _names("a name on one line", r"^[^\x00-\x1f\x7f]*\Z", LONGEST_NAME),
                "uuid": {"$ref": "#/$defs/uuid"},
                "count": _whole(1, MAX_PROVIDERS),
                "index": _names("a counter (small letters)", r"^[a-z][a-z0-9_]*\Z", 20),
                "inventories": {
                    "type": "object",
                    "propertyNames": _names(
                        "a resource class (capitals, digits and _)", r"^[A-Z0-9_]+\Z", 255
                    ),
                    "additionalProperties": {
                        "if": {"type": "object"},
                        "then": {"$ref": "#/$defs/inventory"},
                        "else": _whole(1),
                    },
                },
                "traits": {
                    "type": "array",
                    "items": _names("a trait (capitals, digits and _)", r"^[A-Z0-9_]+\Z", 255),
                },
                "aggregates": {"type": "array", "items": {"$ref": "#/$defs/aggregate"}},
                "children": {"type": "array", "items": {"$ref": "#/$defs/provider"}},
            },
        },
        "inventory": {
            "type": "object",
            "additionalProperties": False,
            "required": ["total"],
            "properties": {
                "total": _whole(1),
                "reserved": _whole(0),
                "min_unit": _whole(1),
                "max_unit": _whole(1),
                "step_size": _whole(1),
                "allocation_ratio": {
                    "type": "number",
                    "exclusiveMinimum": 0,
                    "maximum": 3.40282e38,
                },
            },
        },
    },
}

_KINDS = {
    "object": "a mapping",
    "array": "a list",
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
}


def schema_problems(document: Document) -> Iterator[Problem]:
    """Yield what the schema refuses, each with its line and key."""
    for error in jsonschema.Draft202012Validator(SCHEMA).iter_errors(document.value):
        yield from _error_problems(document, error)


def _error_problems(document: Document, error: jsonschema.ValidationError) -> Iterator[Problem]:
    schema: Any = error.schema
    instance: Any = error.instance
    steps: Steps = tuple(error.absolute_path)
    if "propertyNames" in error.absolute_schema_path:
        steps = (*steps, str(instance))
    if error.validator == "additionalProperties":
        yield from _unknown_keys(document, steps, instance, sorted(schema["properties"]))
    elif error.validator == "required":
        required_keys: Any = error.validator_value
        for key in required_keys:
            if key not in instance:
                yield document.problem(steps, f"{key} is missing")
    else:
        yield document.problem(steps, _message(error))


def _unknown_keys(
    document: Document, steps: Steps, instance: Any, keys: list[str]
) -> Iterator[Problem]:
    for key in instance:
        if key not in keys:
            close = get_close_matches(key, keys, 1)
            hint = f"did you mean {close[0]}?" if close else f"known are {', '.join(keys)}"
            yield document.problem((*steps, key), f"unknown key; {hint}")


def _message(error: jsonschema.ValidationError) -> str:
    schema: Any = error.schema
    bound: Any = error.validator_value
    value = shown(error.instance)
    match error.validator:
        case "type":
            return f"{value} is not {_KINDS[bound]}"
        case "pattern":
            return f"{value} is not {schema['title']}"
        case "minLength":
            return "the text is empty"
        case "maxLength":
            return f"{value} is longer than {bound} characters"
        case "minimum":
            return f"{value} is less than the minimum of {bound}"
        case "exclusiveMinimum":
            return f"{value} is not more than {bound}"
        case "maximum":
            return f"{value} is more than the maximum of {bound}"
    return error.message
