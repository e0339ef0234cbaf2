"""JSON schemas as functions that return the first error of a value.

Cheap keywords are checked first, so that invalid bodies are rejected cheaply. For example, the
length of a text is checked before its pattern, and the type of items before their uniqueness. Error
messages quote only a limited part of the body.
"""

import json
import re
import reprlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError

from placement.api.shapes import Fragment
from placement.objects import identifiers
from placement.objects.catalog import STANDARD_CLASSES
from placement.runtime.suggestions import did_you_mean, nearest

# Returns the first error of a value, or None if it is valid.
Check = Callable[[Any], ValidationError | None]
# Returns whether a value of the right type is valid.
Predicate = Callable[[Any], object]
# Returns the text of an error from the value and the schema.
Phrase = Callable[[Any, Fragment], str]

# Type -> the Python types of its values.
_PYTHON_TYPES: Mapping[str, Collection[type]] = {
    "object": [dict], "array": [list], "string": [str], "boolean": [bool], "null": [type(None)],
    "integer": [int, float], "number": [int, float],
}  # fmt: skip

# Type -> the keywords that can reject its values, in the order of their checks.
_KEYWORDS: Mapping[str, Collection[str]] = {
    "object": (
        "maxProperties", "minProperties", "additionalProperties", "required", "properties",
        "patternProperties",
    ),
    "array": ("maxItems", "minItems", "items", "uniqueItems"),
    "string": ("enum", "maxLength", "minLength", "format", "pattern"),
    "integer": ("type", "minimum", "maximum"),  # the float 5.0 is an integer, and 5.5 is not
    "number": ("minimum", "maximum"),
    "boolean": (),
    "null": (),
}  # fmt: skip

# Keywords that a value cannot violate. Descriptions of patterns and of keys are nouns in errors.
_ANNOTATIONS = frozenset({"title", "description", "default", "examples", "propertyNames"})
_KNOWN = _ANNOTATIONS.union({"type"}, *_KEYWORDS.values())

# Description of the keys of an object that maps resource classes to values.
CLASS_KEYS = "the name of a resource class (A to Z, 0 to 9, _)"
# Description of keys -> names to propose for an invalid key.
_PROPOSED: Mapping[str, Collection[str]] = {CLASS_KEYS: STANDARD_CLASSES}

_BRIEF = reprlib.Repr()
_BRIEF.maxstring = _BRIEF.maxother = 120  # characters
_BRIEF.maxlist = _BRIEF.maxdict = 4
_BRIEF.maxlevel = 3
quote = _BRIEF.repr


def compiled(schema: Fragment) -> Check:
    """Return the check of a schema, which must state a type. A pattern must have a description.

    PERF: the validators of `jsonschema` take 25 times as long, so they only word errors.

    Raises:
        ValueError: the schema contains a keyword that is not checked.
    """
    if unknown := schema.keys() - _KNOWN:
        raise ValueError(f"keywords that are not checked: {', '.join(sorted(unknown))}")
    checks: dict[type, list[Check]] = {}
    for name in _types(schema):
        of_type = [_check(keyword, schema) for keyword in _KEYWORDS[name] if keyword in schema]
        checks.update(dict.fromkeys(_PYTHON_TYPES[name], of_type))
    others: list[Check] = [lambda value: _error("type", value, schema)]

    def first_error(value: Any) -> ValidationError | None:
        for check in checks.get(type(value), others):
            if (error := check(value)) is not None:
                return error
        return None

    return first_error


def _check(keyword: str, schema: Fragment) -> Check:
    if keyword in _MEMBERS:
        return _MEMBERS[keyword](schema[keyword])
    accepts = _PREDICATES[keyword](schema[keyword], schema)
    return lambda value: None if accepts(value) else _error(keyword, value, schema)


def _of_properties(schemas: Mapping[str, Fragment]) -> Check:
    checks = {name: compiled(schema) for name, schema in schemas.items()}
    return lambda value: _first_of(
        (name, value[name], check) for name, check in checks.items() if name in value
    )


def _of_matching_properties(schemas: Mapping[str, Fragment]) -> Check:
    [(pattern, schema)] = schemas.items()
    matches, check = re.compile(pattern).search, compiled(schema)
    return lambda value: _first_of(
        (name, member, check) for name, member in value.items() if matches(name)
    )


def _of_items(schema: Fragment) -> Check:
    check = compiled(schema)
    return lambda value: _first_of((index, item, check) for index, item in enumerate(value))


def _first_of(members: Iterable[tuple[str | int, Any, Check]]) -> ValidationError | None:
    """Return the first error of the members of a value. members: their keys, values and checks."""
    for key, member, check in members:
        if (error := check(member)) is not None:
            error.path.appendleft(key)
            return error
    return None


# Keyword -> makes the check of the members to which it applies.
_MEMBERS: Mapping[str, Callable[[Any], Check]] = {
    "properties": _of_properties,
    "patternProperties": _of_matching_properties,
    "items": _of_items,
}


def _has_at_most(limit: int, _schema: Fragment) -> Predicate:
    return lambda value: len(value) <= limit


def _has_at_least(limit: int, _schema: Fragment) -> Predicate:
    return lambda value: len(value) >= limit


def _has_known_properties(_allowed: bool, schema: Fragment) -> Predicate:
    """Check `additionalProperties`: false, with either properties or one pattern of their names."""
    if "patternProperties" in schema:
        (matches,) = (re.compile(pattern).search for pattern in schema["patternProperties"])
        return lambda value: all(map(matches, value))
    known = schema["properties"].keys()
    return lambda value: value.keys() <= known


def _has_all(names: Collection[str], _schema: Fragment) -> Predicate:
    required = frozenset(names)
    return lambda value: value.keys() >= required


# Keyword -> makes the predicate for its argument and schema.
_PREDICATES: Mapping[str, Callable[[Any, Fragment], Predicate]] = {
    "type": lambda _types, _schema: lambda value: type(value) is int or value.is_integer(),
    "enum": lambda values, _schema: frozenset(values).__contains__,
    "maxLength": _has_at_most,
    "maxItems": _has_at_most,
    "maxProperties": _has_at_most,
    "minLength": _has_at_least,
    "minItems": _has_at_least,
    "minProperties": _has_at_least,
    "additionalProperties": _has_known_properties,
    "required": _has_all,
    "minimum": lambda limit, _schema: lambda value: value >= limit,
    "maximum": lambda limit, _schema: lambda value: value <= limit,
    "format": lambda _name, _schema: identifiers.canonical,  # the only format is uuid
    "pattern": lambda pattern, _schema: re.compile(pattern).search,
    "uniqueItems": lambda _unique, _schema: lambda value: len(set(value)) == len(value),
}


def _error(keyword: str, value: Any, schema: Fragment) -> ValidationError:
    """Return the error of a value that violates a keyword."""
    if keyword in _PHRASES:
        return ValidationError(_PHRASES[keyword](value, schema))
    validator = Draft202012Validator(schema)
    errors: Iterator[ValidationError] = validator.VALIDATORS[keyword](
        validator, schema[keyword], value, schema
    )
    return next(errors)


def _types(schema: Fragment) -> Collection[str]:
    return [schema["type"]] if isinstance(schema["type"], str) else schema["type"]


def _too_long(keyword: str) -> Phrase:
    return lambda value, schema: (
        f"{quote(value)} is too long: at most {schema[keyword]} are allowed"
    )


def _unexpected(value: Any, schema: Fragment) -> str:
    is_known = _has_known_properties(False, schema)
    key = next(key for key in value if not is_known({key: None}))
    noun = schema.get("propertyNames", {}).get("description")
    if noun:
        proposed = nearest(key.upper(), _PROPOSED.get(noun, ()))
        return f"{quote(key)} is not {noun}{did_you_mean(proposed)}"
    names = schema["properties"]
    similar = nearest(key, names) or [path for path in _paths(schema) if _is_path(key, path)]
    hint = did_you_mean(similar[:1]) or f"; there are {', '.join(sorted(names))}"
    return f"Additional properties are not allowed ({quote(key)} was unexpected){hint}"


def _paths(schema: Fragment) -> Iterator[str]:
    """Yield the paths of the members of an object's members."""
    for name, member in schema["properties"].items():
        inner: Fragment = next(iter(member.get("patternProperties", {}).values()), {})
        for key in member.get("propertyNames", {}).get("examples", ()):
            yield from (f'{name}["{key}"].{each}' for each in inner.get("properties", ()))
        yield from (f"{name}.{each}" for each in member.get("properties", ()))
        items = member.get("items", {})
        yield from (f"{name}[0].{each}" for each in items.get("properties", ()))


def _is_path(key: str, path: str) -> bool:
    """Return whether a key is the last step of a path, or the path as a query parameter."""
    return key == path.rpartition(".")[2] or key == path.replace(".", "_")


def _right_type(value: Any, schema: Fragment) -> str:
    """Return a hint about the form of a list or an object in place of another value."""
    if schema["type"] == "array" and type(value) in _python_types(schema.get("items", schema)):
        return f"; write [{quote(value)}]"
    return _form(schema) if schema["type"] in ("array", "object") else ""


def _form(schema: Fragment) -> str:
    """Return a hint about the form of a value: its description, its members or an example."""
    names = sorted(schema.get("properties", ()))
    noun = {"object": "an object", "array": "a list"}.get(str(schema["type"]), "a value")
    form = schema.get("description", "")
    if "propertyNames" in schema:
        form = f"{noun}, in which each key is {schema['propertyNames']['description']}"
    elif schema.get("examples"):
        comma = "," if form else ""
        form = f"{form or noun}{comma} such as {json.dumps(schema['examples'][0])}"
    elif names:
        form = f"{noun} with {', '.join(names)}"
    return f"; expected {form}" if form else ""


def _missing(value: Any, schema: Fragment) -> str:
    """Return which required member is missing, and its form, or an example of the object."""
    name = next(name for name in schema["required"] if name not in value)
    form = _form(schema if "examples" in schema else schema["properties"].get(name, schema))
    return f"{quote(name)} is a required property{form}"


def _python_types(schema: Fragment) -> set[type]:
    return {each for name in _types(schema) for each in _PYTHON_TYPES[name]}


def _expected(schema: Fragment) -> str:
    return f": expected {schema['description']}" if "description" in schema else ""


# Keyword -> the text of its errors, where that of `jsonschema` is long or unclear.
_PHRASES: Mapping[str, Phrase] = {
    "type": lambda value, schema: (
        f"{quote(value)} is not of type {', '.join(map(repr, _types(schema)))}"
        f"{_right_type(value, schema)}"
    ),
    "enum": lambda value, schema: (
        f"{quote(value)}: expected {schema.get('description') or ' or '.join(schema['enum'])}"
    ),
    "maxLength": _too_long("maxLength"),
    "maxItems": _too_long("maxItems"),
    "maxProperties": lambda value, schema: (
        f"{quote(value)} has {len(value)} members: at most {schema['maxProperties']} are allowed"
    ),
    "additionalProperties": _unexpected,
    "required": _missing,
    "format": lambda value, schema: (
        f"{quote(value)} is not a {schema['format']!r}{_expected(schema)}"
    ),
    "pattern": lambda value, schema: f"{quote(value)}: expected {schema['description']}",
}
