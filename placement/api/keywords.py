"""The keywords of JSON schemas, checked in an order that rejects invalid bodies cheaply.

Cheap keywords are checked first, and the caller stops at the first error. For example, the length
of a text is checked before its pattern, and the type of items before their uniqueness. Error
messages quote only a limited part of the body. Nested schemas are compiled once.
"""

import re
import reprlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from math import inf
from typing import Any, NamedTuple, Self

from jsonschema import Draft202012Validator, FormatChecker, validators
from jsonschema.exceptions import ValidationError

from placement.objects import identifiers
from placement.objects.catalog import STANDARD_CLASSES
from placement.runtime.suggestions import did_you_mean, nearest

ORDER = (
    "type", "maxLength", "maxItems", "maxProperties", "minLength", "minItems", "minProperties",
    "propertyNames", "additionalProperties", "required", "minimum", "maximum", "format", "pattern",
    "properties", "patternProperties", "items", "uniqueItems",
)  # fmt: skip

# Description of the keys of an object that maps resource classes to values.
CLASS_KEYS = "the name of a resource class (A to Z, 0 to 9, _)"
# Description of keys -> names to propose for an invalid key.
_PROPOSED: Mapping[str, Collection[str]] = {CLASS_KEYS: STANDARD_CLASSES}

# Keywords that a body cannot violate. The description of a pattern is the noun in its error.
ANNOTATIONS = frozenset({"title", "description", "examples"})

Errors = Iterator[ValidationError]

_BRIEF = reprlib.Repr()
_BRIEF.maxstring = _BRIEF.maxother = 120  # characters
_BRIEF.maxlist = _BRIEF.maxdict = 4
_BRIEF.maxlevel = 3

FORMATS = FormatChecker(formats=())


class _Check(NamedTuple):
    """The check of one keyword."""

    # Returns whether a value of the expected type is valid. None means that only `errors` decides.
    accepts: Callable[[Any], object] | None
    # Yields the errors of a value of any type, like the functions of `jsonschema`.
    errors: Callable[..., Any]
    # Value of the keyword.
    argument: Any


class _Compiled(NamedTuple):
    """A nested schema."""

    # The jsonschema validator of the schema.
    validator: Any
    # All checks in order.
    checks: Sequence[_Check]
    # Type that the schema allows, except numbers -> the checks that can fail for values of this
    # type.
    checks_by_type: Mapping[type, Sequence[_Check]]
    # Minimum of a schema for amounts. It is infinite for other schemas.
    least: float
    # Maximum of a schema for amounts.
    most: float
    # A cache of texts that the schema allows.
    texts: set[str]

    @classmethod
    def of(cls, validator: Any, schema: Mapping[str, Any]) -> Self:
        """Compile a schema after sorting its keywords."""
        checks = [
            _Check(None, validator.VALIDATORS[keyword], argument)
            for keyword, argument in schema.items()
        ]
        checks_by_type: dict[type, Sequence[_Check]] = {}
        types = schema.get("type", ())
        for name in [types] if isinstance(types, str) else types:
            if name in _PYTHON_TYPES:
                checks_by_type[_PYTHON_TYPES[name]] = [
                    _Check(_acceptance(keyword, schema), validator.VALIDATORS[keyword], argument)
                    for keyword, argument in schema.items()
                    if keyword in _KEYWORDS[name]
                ]
        least = schema.get("minimum", inf) if schema.keys() <= _OF_AMOUNTS else inf
        most = schema.get("maximum", inf)
        return cls(validator.evolve(schema=schema), checks, checks_by_type, least, most, set())

    def remember(self, text: str) -> None:
        """Cache a text that the schema allows, unless it is long."""
        if len(text) <= MAX_REMEMBERED_LENGTH:
            if len(self.texts) >= MAX_REMEMBERED:
                self.texts.clear()
            self.texts.add(text)


# Types except numbers, because 5.0 is also an integer.
_PYTHON_TYPES: Mapping[str, type] = {
    "object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)
}  # fmt: skip

# Type -> the keywords that can reject values of this type.
_KEYWORDS: Mapping[str, Collection[str]] = {
    "object": (
        "maxProperties", "minProperties", "additionalProperties", "required", "properties",
        "patternProperties",
    ),
    "array": ("maxItems", "minItems", "items", "uniqueItems"),
    "string": ("maxLength", "minLength", "format", "pattern"),
    "boolean": (),
    "null": (),
}  # fmt: skip

_compiled: dict[int, _Compiled] = {}

MAX_REMEMBERED = 1000  # texts of one schema
MAX_REMEMBERED_LENGTH = 64  # characters of a text

# The keywords of a schema for amounts.
_OF_AMOUNTS = frozenset({"type", "minimum", "maximum"})


@FORMATS.checks("uuid")
def _is_uuid(value: object) -> bool:
    return not isinstance(value, str) or identifiers.canonical(value) is not None


def in_order(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a schema, and all schemas in it, with keywords in the order of their checks.

    Annotations are omitted, except the description of a pattern.

    Raises:
        ValueError: `ORDER` does not have a keyword.
        KeyError: a pattern has no description.
    """
    keywords = sorted(schema.keys() - ANNOTATIONS, key=ORDER.index)
    if "pattern" in schema:
        keywords.append("description")
    return {keyword: _within(keyword, schema[keyword]) for keyword in keywords}


def _within(keyword: str, value: Any) -> Any:
    if keyword in {"properties", "patternProperties"}:
        return {key: in_order(schema) for key, schema in value.items()}
    return in_order(value) if keyword == "items" else value


def errors(validator: Any, value: Any) -> Errors:
    """Yield the errors of a value in the order of the checks.

    PERF: this replaces `validator.iter_errors`, which takes twice as long.
    """
    schema = validator.schema
    compiled = _compiled.get(id(schema)) or _compile(validator, schema)
    for accepts, check, argument in compiled.checks_by_type.get(type(value), compiled.checks):
        if accepts is None or not accepts(value):
            yield from check(compiled.validator, argument, value, schema) or ()


# PERF: `re.compile` takes ten times as long to find a known pattern.
@lru_cache(maxsize=256)
def _search(pattern: str) -> Callable[[str], object]:
    return re.compile(pattern).search


def _acceptance(keyword: str, schema: Mapping[str, Any]) -> Callable[[Any], object] | None:
    """Return a function that accepts the valid values of a keyword's type, or None.

    PERF: most values are valid, and this function takes a tenth of the time that the generator of
    errors takes.
    """
    argument = schema[keyword]
    if keyword in {"maxLength", "maxItems", "maxProperties"}:
        return lambda value: len(value) <= argument
    if keyword in {"minLength", "minItems", "minProperties"}:
        return lambda value: len(value) >= argument
    if keyword == "required":
        return frozenset(argument).issubset
    if keyword == "additionalProperties":
        known = frozenset(schema.get("properties", ()))
        return lambda value: value.keys() <= known
    if keyword == "pattern":
        return re.compile(argument).search
    return _is_uuid if keyword == "format" and argument == "uuid" else None


def _type(validator: Any, types: Any, value: Any, _schema: Any) -> Errors:
    names = [types] if isinstance(types, str) else types
    if not any(validator.is_type(value, name) for name in names):
        yield ValidationError(
            f"{_BRIEF.repr(value)} is not of type {', '.join(repr(name) for name in names)}"
        )


def _at_most(kind: type[str | list[Any] | dict[Any, Any]]) -> Callable[..., Errors]:
    """Return a check of the maximum size of one kind of value. Values of other kinds pass."""

    def check(_validator: Any, limit: int, value: Any, _schema: Any) -> Errors:
        if isinstance(value, kind) and len(value) > limit:
            yield ValidationError(f"{_BRIEF.repr(value)} is too long: at most {limit} are allowed")

    return check


def _additional(_validator: Any, _allowed: bool, value: Any, schema: Any) -> Errors:
    """Check `additionalProperties`: false."""
    if not isinstance(value, dict):  # lists have no properties
        return
    properties, patterns = schema.get("properties", {}), schema.get("patternProperties", ())
    if value.keys() <= properties.keys():
        return
    searches = list(map(_search, patterns))
    for key in value:
        if key not in properties and not any(search(key) for search in searches):
            noun = schema.get("propertyNames", {}).get("description")
            yield ValidationError(
                f"{_BRIEF.repr(key)} is not {noun}"
                f"{did_you_mean(nearest(key.upper(), _PROPOSED.get(noun, ())))}"
                if noun
                else f"Additional properties are not allowed ({_BRIEF.repr(key)} was unexpected)"
                f"{_existing(key, properties)}"
            )


def _existing(unknown: str, names: Collection[str]) -> str:
    """Return the name that resembles an unknown one, or else all names."""
    return did_you_mean(nearest(unknown, names)) or f"; there are {', '.join(sorted(names))}"


def _pattern(_validator: Any, pattern: str, value: Any, schema: Any) -> Errors:
    if isinstance(value, str) and not _search(pattern)(value):
        yield ValidationError(f"{_BRIEF.repr(value)}: expected {schema['description']}")


def _nothing(_validator: Any, _names: Any, _value: Any, _schema: Any) -> Errors:
    """Ignore keywords that only supply nouns for errors."""
    return iter(())


def _properties(validator: Any, schemas: Any, value: Any, _schema: Any) -> Errors:
    if not isinstance(value, dict):
        return
    for key, within in schemas.items():
        if key in value:
            yield from _descend(validator, within, [(key, value[key])])


def _pattern_properties(validator: Any, schemas: Any, value: Any, _schema: Any) -> Errors:
    for pattern, within in schemas.items():
        search = _search(pattern)
        yield from _descend(
            validator, within, ((key, member) for key, member in value.items() if search(key))
        )


def _items(validator: Any, within: Any, value: Any, _schema: Any) -> Errors:
    if isinstance(value, list):  # the schema may also allow texts
        yield from _descend(validator, within, enumerate(value))


def _descend(validator: Any, schema: Any, members: Iterable[tuple[Any, Any]]) -> Errors:
    compiled = _compiled.get(id(schema)) or _compile(validator, schema)
    inner, all_checks, checks_by_type, least, most, texts = compiled
    for key, member in members:
        # PERF: most members of large bodies are valid amounts. The validator takes ten times as
        # long to accept them.
        if type(member) is int and least <= member <= most:
            continue
        # PERF: a body may repeat the names of a cloud many times.
        if type(member) is str and member in texts:
            continue
        is_right = True
        # PERF: `validator.iter_errors` takes twice as long.
        for accepts, check, argument in checks_by_type.get(type(member), all_checks):
            if accepts is not None and accepts(member):
                continue
            for error in check(inner, argument, member, schema) or ():
                is_right = False
                error.path.appendleft(key)
                yield error
        if is_right and type(member) is str:
            compiled.remember(member)


def _compile(validator: Any, schema: Any) -> _Compiled:
    # The validator keeps a reference to the schema, so its id is not reused.
    compiled = _compiled[id(schema)] = _Compiled.of(validator, schema)
    return compiled


Validator = validators.extend(  # type: ignore[no-untyped-call]
    Draft202012Validator,
    {
        "type": _type,
        "maxLength": _at_most(str),
        "maxItems": _at_most(list),
        "maxProperties": _at_most(dict),
        "propertyNames": _nothing,
        "description": _nothing,
        "pattern": _pattern,
        "additionalProperties": _additional,
        "properties": _properties,
        "patternProperties": _pattern_properties,
        "items": _items,
    },
)
