"""The members of a body, from its schema."""

from collections.abc import Iterator, Mapping
from typing import Any

Schema = Mapping[str, Any]
Row = tuple[str, str]

ANY_KEY = "{…}"
DEEPEST = 6  # maximum nesting of documented members


def body_members(schema: Schema, path: str = "", level: int = 0) -> Iterator[Row]:
    """Return a row for each member at any depth: its path, and what its values are.

    In paths `{…}` is any key of an object, and `[]` any item of a list. Of a body that has several
    forms, the first is documented in full.
    """
    if "oneOf" in schema and not path:
        schema, *others = schema["oneOf"]
    else:
        others = []
    yield from _members(schema, path, level)
    for form in others:
        for name, member in form["properties"].items():
            yield f"``{name}``", f"{values(member)}, instead of all of these"


def _members(schema: Schema, path: str, level: int) -> Iterator[Row]:
    if level == DEEPEST:
        return
    required = schema.get("required", ())
    for name, member in schema.get("properties", {}).items():
        yield from _member(member, f"{path}.{name}".lstrip("."), name in required, level)
    for member in schema.get("patternProperties", {}).values():
        yield from _member(member, f"{path}.{ANY_KEY}".lstrip("."), True, level)
    if "items" in schema:
        yield from _members(schema["items"], f"{path}[]", level)


def _member(member: Schema, path: str, required: bool, level: int) -> Iterator[Row]:
    yield f"``{path}``", values(member) + ("" if required else "; optional")
    yield from _members(member, path, level + 1)


def values(schema: Schema) -> str:
    """Return what a schema allows, in words."""
    if "enum" in schema:
        return " or ".join(f"``{value}``" for value in schema["enum"])
    for forms in ("anyOf", "oneOf"):
        if forms in schema:
            return " or ".join(dict.fromkeys(values(form) for form in schema[forms]))
    kinds = schema.get("type", "any")
    if kinds == "array":
        return f"list of {values(schema.get('items', {}))}"
    kind = kinds if isinstance(kinds, str) else " or ".join(kinds).replace("array", "list")
    return kind + _bounds(schema)


def _bounds(schema: Schema) -> str:
    least, most = schema.get("minimum"), schema.get("maximum")
    if least is not None and most is not None:
        return f", {least:,} to {most:,}"
    if least is not None:
        return f", {least:,} or more"
    if "maxLength" in schema:
        return f" of {schema['maxLength']} characters at the most"
    return ""
