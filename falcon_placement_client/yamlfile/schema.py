"""The JSON schemas of files. Violations are described in terms of YAML."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from falcon_placement_client.inventory import FIELDS
from falcon_placement_client.suggestions import did_you_mean, nearest
from falcon_placement_client.vocabulary import MAX_INTEGER
from falcon_placement_client.yamlfile.document import Document
from falcon_placement_client.yamlfile.problems import Problem, Steps, shown

if TYPE_CHECKING:
    from jsonschema import ValidationError


def whole(minimum: int, maximum: int = MAX_INTEGER) -> dict[str, Any]:
    """Return a schema of integers."""
    return {"type": "integer", "minimum": minimum, "maximum": maximum}


def closed(required: Sequence[str], **properties: Any) -> dict[str, Any]:
    """Return a schema of mappings that have no other keys than `properties`."""
    return {
        "type": "object",
        "additionalProperties": False,
        "required": list(required),
        "properties": properties,
    }


def names(title: str, pattern: str, max_length: int) -> dict[str, Any]:
    """Return a schema of names. Messages about an invalid name state that it is not a `title`."""
    return {
        "type": "string",
        "minLength": 1,
        "maxLength": max_length,
        "pattern": pattern,
        "title": title,
    }


UUID = names("a UUID", r"^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\Z", 36)
RESOURCE_CLASS = names("a resource class (capitals, digits and _)", r"^[A-Z0-9_]+\Z", 255)
TRAITS = {
    "type": "array",
    "items": names("a trait (capitals, digits and _)", r"^[A-Z0-9_]+\Z", 255),
}
MAX_RATIO = 3.40282e38


def inventories(least_ratio: Mapping[str, float], required: Sequence[str] = ()) -> dict[str, Any]:
    """Return a schema of inventories by class, each as a total or as a record.

    Args:
        least_ratio: the schema of the lower limit of the ratio.
        required: members that each record must have.
    """
    ratio = {"type": "number", **least_ratio, "maximum": MAX_RATIO}
    amounts = {name: whole(0 if name == "reserved" else 1) for name in FIELDS}
    record = closed(required, **{**amounts, "allocation_ratio": ratio})
    # This is "if" instead of "anyOf", so that messages refer to the form in the file.
    forms = {"if": {"type": "object"}, "then": record, "else": whole(1)}
    return {"type": "object", "propertyNames": RESOURCE_CLASS, "additionalProperties": forms}


_CONTAINERS: dict[Any, str] = {str: "text", dict: "mapping", list: "list"}
_KINDS = {
    "object": "a mapping",
    "array": "a list",
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
}


def schema_problems(document: Document, schema: Mapping[str, Any]) -> Iterator[Problem]:
    """Yield the violations of a schema, with their lines and keys."""
    from jsonschema import Draft202012Validator  # noqa: PLC0415

    for error in Draft202012Validator(schema).iter_errors(document.value):
        yield from _error_problems(document, error)


def _error_problems(document: Document, error: "ValidationError") -> Iterator[Problem]:
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
            hint = did_you_mean(nearest(key, keys)) or f"; known are {', '.join(keys)}"
            yield document.problem((*steps, key), f"unknown key{hint}")


def _message(error: "ValidationError") -> str:
    schema: Any = error.schema
    bound: Any = error.validator_value
    value = shown(error.instance)
    match error.validator:
        case "type":
            hint = f"; expected {schema['description']}" if "description" in schema else ""
            return f"{value} is not {_KINDS[bound]}{hint}"
        case "pattern":
            return f"{value} is not {schema['title']}"
        case "minLength" | "minProperties" | "minItems":
            return f"the {_CONTAINERS[type(error.instance)]} is empty"
        case "maxLength":
            return f"{value} is longer than {bound} characters"
        case "minimum":
            return f"{value} is less than the minimum of {bound}"
        case "exclusiveMinimum":
            return f"{value} is not more than {bound}"
        case "maximum":
            return f"{value} is more than the maximum of {bound}"
    return error.message
