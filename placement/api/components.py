"""Schemas of the OpenAPI document, with references to named schemas and to examples."""

from collections.abc import Mapping
from typing import Any

from placement.api.bodies import END
from placement.api.shapes import Fragment


class Components:
    """The named schemas of a document. These are the schemas that have a title."""

    def __init__(self) -> None:
        self.schemas: dict[str, Any] = {}

    def add(self, schema: Fragment) -> dict[str, Any]:
        """Return the schema, with each named schema in it replaced by a reference.

        Raises:
            ValueError: two different schemas have the same name.
        """
        title = schema.get("title")
        placed = {key: self._within(key, value) for key, value in _by_keys(schema).items()}
        if title is None:
            return placed
        if self.schemas.setdefault(title, placed) != placed:
            raise ValueError(f"two schemas are called {title}")
        return {"$ref": f"#/components/schemas/{title}"}

    def _within(self, keyword: str, value: Any) -> Any:
        if keyword == "properties":
            return {name: self.add(schema) for name, schema in value.items()}
        if keyword in {"items", "additionalProperties"} and isinstance(value, Mapping):
            return self.add(value)
        if keyword == "oneOf":
            return [self.add(schema) for schema in value]
        if keyword == "propertyNames":
            return self.add(value)
        if keyword == "pattern":
            # In JavaScript, `$` only matches at the end. Few other languages have lookaheads.
            return value.replace(END, "$")
        return value


def _by_keys(schema: Fragment) -> Fragment:
    """Describe objects with uniform keys by keywords that client generators understand."""
    patterns = schema.get("patternProperties")
    if patterns is None:
        return schema
    # Few generators support patternProperties. With a single pattern, propertyNames is equivalent.
    [(pattern, values)] = patterns.items()
    others = {key: value for key, value in schema.items() if key != "patternProperties"}
    if schema.get("additionalProperties") is not False:
        return {**others, "additionalProperties": values}  # other keys are allowed, too
    keys = {**schema.get("propertyNames", {}), "type": "string", "pattern": pattern}
    return {**others, "propertyNames": keys, "additionalProperties": values}


def example_of(schema: Fragment) -> Any:
    """Return the example of a schema, or compose one from the examples of its parts.

    A member with an empty list of examples is omitted.

    Raises:
        ValueError: there is no example.
    """
    if "examples" in schema:
        return schema["examples"][0]
    if "oneOf" in schema:
        return example_of(schema["oneOf"][0])
    if schema.get("type") == "array":
        return [example_of(schema["items"])]
    if schema.get("type") != "object":
        raise ValueError(f"there is no example of {schema}")
    example = {
        name: example_of(member)
        for name, member in schema.get("properties", {}).items()
        if member.get("examples") != []
    }
    table = _by_keys(schema)
    if table.get("additionalProperties"):
        example[example_of(table["propertyNames"])] = example_of(table["additionalProperties"])
    return example
