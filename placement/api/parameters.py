"""Query parameters: their declarations by version, and the parsing of query strings."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import partial
from typing import Any, TypeVar
from urllib.parse import parse_qsl, urlencode

from placement.api.history import HISTORY, Feature, Microversion, exists_from, v
from placement.api.shapes import Fragment
from placement.errors import QUERY_DUPLICATE_KEY, BadQuery
from placement.objects import identifiers
from placement.runtime.suggestions import did_you_mean, nearest

Pairs = Sequence[tuple[str, str]]

E = TypeVar("E", bound=Enum)

# Maximum number of parameters and of listed values in a query. SQLite accepts 32,766 parameters in
# a statement, and an aggregate has about five spellings.
MAX_ITEMS = 5_000
INCLUDE_SINCE = "2.0"
MAX_REPEATED = 80  # characters of a value in an error message

_POSITIVE = re.compile(r"[1-9][0-9]*\Z", re.ASCII)


def matching(pattern: str) -> Fragment:
    """Return the schema of texts that match the whole pattern."""
    return {"type": "string", "pattern": f"^{pattern}$"}


@dataclass(frozen=True, slots=True)
class Parameter:
    """A query parameter."""

    # First version with the parameter.
    since: str
    # Description for the OpenAPI document.
    about: str
    # Schema of the values, as far as a schema can describe them.
    schema: Fragment = field(default_factory=lambda: {"type": "string"})
    # Whether the name may have the suffix of a request group.
    suffixed: bool = False
    required: bool = False
    # Whether each of several values has an effect.
    repeatable: bool = False
    # Error for values that do not match the pattern of the schema. None means that the pattern only
    # describes the values.
    error: str | None = None

    def __post_init__(self) -> None:
        if v(self.since) not in HISTORY:
            raise ValueError(f"no such microversion: {self.since}")

    def is_single(self, version: Microversion) -> bool:
        """Return whether the parameter may be given only once.

        Before 2.0, the last value has an effect (of `limit` and `group_policy` the first one), as
        in openstack-placement.
        """
        return not self.repeatable and Feature.WHOLE_LANGUAGE.at(version)


def repeatable(since: str, about: str, **more: Any) -> Parameter:
    """Return a parameter of which each of several values has an effect."""
    return Parameter(since, f"{about} In 2.0, it can be repeated.", repeatable=True, **more)


# A project or a user.
owner = partial(Parameter, schema=matching(".{1,255}"), error="expected 1 to 255 characters")

DASHED_UUID = "[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}"
# A UUID in any spelling.
UUID_SCHEMA = matching("[{}A-Za-z0-9:-]+")
# Error for a value that is not a UUID. Clients often send a name instead.
PROVIDER_UUID = (
    "expected the UUID of a resource provider, which GET /resource_providers?name=NAME shows"
)


def provider_uuid(
    since: str, about: str, *, required: bool = False, error: str | None = None
) -> Parameter:
    schema = UUID_SCHEMA if error is None else matching(DASHED_UUID)
    return Parameter(since, about, schema, required=required, error=error)


def marker_parameter(objects: str) -> Parameter:
    about = f"A UUID; only {objects} after it are listed, in the order of their UUIDs."
    return Parameter("2.0", about, UUID_SCHEMA)


def bad(key: str, value: str, what: str, code: str | None = None) -> BadQuery:
    """Return an error with the name and the value of a parameter, and a description."""
    repeated = value if len(value) <= MAX_REPEATED else f"{value[:MAX_REPEATED]}…"
    text = f"{key}={repeated!r}: {what}"
    return BadQuery(text) if code is None else BadQuery(text, code)


def positive(key: str, value: str, most: int | None = None) -> int:
    """Return the integer in a value. Raise BadQuery unless it is from 1 to `most`."""
    if not _POSITIVE.match(value):
        raise bad(key, value, "expected an integer of at least 1")
    # Larger numbers have no effect.
    number = int(value[:18])
    if most is not None and number > most:
        raise bad(key, value, f"expected an integer of at most {most}")
    return number


def parse_uuid(key: str, value: str, expected: str = PROVIDER_UUID) -> str:
    """Return the canonical form of a UUID. Raise BadQuery if the value is none."""
    uuid = identifiers.canonical(value)
    if uuid is None:
        raise bad(key, value, expected)
    return uuid


def split(query_string: str, errors: str = "replace") -> list[tuple[str, str]]:
    """Decode a query string, keeping blank values, order and repetitions.

    Semicolons separate parameters, as in openstack-placement.

    Args:
        query_string: the text after `?`.
        errors: what to do with invalid UTF-8, as in `bytes.decode`.

    Raises:
        UnicodeError: the query is not UTF-8, and `errors` is "strict".
        ValueError: the query has too many parameters.
    """
    text = query_string.encode("latin-1").decode("utf-8", errors)
    return parse_qsl(text.replace(";", "&"), keep_blank_values=True, errors=errors)


def pairs(query_string: str) -> Pairs:
    """Decode a query string strictly.

    Raises:
        BadQuery: it is not UTF-8, has texts that cannot be stored, or has too many items.
    """
    try:
        decoded = split(query_string, "strict")
    except (UnicodeError, ValueError) as error:
        raise BadQuery(f"The query string is not valid UTF-8: {error}") from None
    items = sum(1 + value.count(",") for _key, value in decoded)
    if items > MAX_ITEMS:
        raise BadQuery(
            f"The query has {items} items (parameters and values between commas); "
            f"at most {MAX_ITEMS} are allowed"
        )
    for key, value in decoded:
        if not identifiers.storable(value):
            raise bad(key, value, "a null character or a lone surrogate cannot be used")
    return decoded


def last_values(
    query: Pairs, parameters: Mapping[str, Parameter], version: Microversion
) -> dict[str, str]:
    """Return the last value of each parameter.

    Raises:
        BadQuery: a parameter is unknown, missing or repeated, or a value does not match its
            pattern.
    """
    values: dict[str, str] = {}
    for key, value in query:
        if key not in parameters or version < v(parameters[key].since):
            raise unknown(key, value, parameters, version)
        if key in values and parameters[key].is_single(version):
            raise repeated(key)
        values[key] = value
    for name, parameter in parameters.items():
        if name not in values:
            if parameter.required:
                raise BadQuery(f"{name}: this parameter is required")
        elif parameter.error and not re.fullmatch(
            parameter.schema["pattern"], values[name], re.DOTALL
        ):
            raise bad(name, values[name], parameter.error)
    return values


def repeated(key: str) -> BadQuery:
    """Return the error for a parameter with more values than it may have."""
    return BadQuery(f"{key}: this parameter may be given only once", QUERY_DUPLICATE_KEY)


def unknown(
    key: str,
    value: str,
    parameters: Mapping[str, Parameter],
    version: Microversion,
    suffix: str = "",
) -> BadQuery:
    """Return the error for a parameter that does not exist, or does not exist at this version.

    Args:
        key: name of the parameter.
        value: its value.
        parameters: parameters of the operation, of all versions.
        version: version of the request.
        suffix: the part of the name that may be the suffix of a request group.
    """
    if key in parameters and version < v(parameters[key].since):
        return bad(key, value, f"this parameter {exists_from(parameters[key].since)}")
    names = sorted(name for name, parameter in parameters.items() if version >= v(parameter.since))
    suffixed = [name + suffix for name in names if parameters[name].suffixed]
    hint = did_you_mean(nearest(key, [*names, *suffixed]))
    hint = hint or f"; there are {', '.join(names) or 'none'}"
    return bad(key, value, f"no such parameter{hint}")


def include_parameter(entity: str, parts: type[Enum]) -> Parameter:
    """Return the parameter `include`, whose values are the members of an enumeration.

    Args:
        entity: what has the parts, for the description.
        parts: the parts; the value of each member is its name in a query.
    """
    names = [part.value for part in parts]
    name = "|".join(names)
    return repeatable(
        INCLUDE_SINCE,
        f"Parts to include with each {entity}, separated by commas: "
        f"{', '.join(f'`{each}`' for each in names)}.",
        schema=matching(f"({name})(,({name}))*"),
    )


def parse_include(query: Pairs, parts: type[E]) -> tuple[E, ...]:
    """Return the parts that `include` names, in the order of the enumeration.  Raises BadQuery."""
    names: set[str] = set()
    for key, value in query:
        if key == "include":
            names.update(value.split(","))
    known = {part.value: part for part in parts}
    if unknown_names := names - known.keys():
        raise bad("include", min(unknown_names), f"no such part; there are {', '.join(known)}")
    return tuple(part for name, part in known.items() if name in names)


def parse_show(query_string: str, version: Microversion, parts: type[E]) -> tuple[E, ...]:
    """Return the parts to include with one object.

    Raises:
        BadQuery: the query is invalid; older versions ignore it.
    """
    if version < v(INCLUDE_SINCE):
        return ()
    query = pairs(query_string)
    last_values(query, {"include": include_parameter("object", parts)}, version)
    return parse_include(query, parts)


def check_feature(
    key: str, value: str, what: str, since: Microversion, version: Microversion
) -> None:
    """Raise BadQuery if a value has a form that only later versions support."""
    if version < since:
        raise bad(key, value, f"{what} needs microversion {since} or later")


def after(query: Pairs, uuid: str) -> str:
    """Return the query string of the next page after a provider, with all other parameters."""
    others = [(key, value) for key, value in query if key != "marker"]
    return urlencode([*others, ("marker", uuid)], safe=":,!")
