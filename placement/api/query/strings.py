"""Decoding of query strings, and the parameters that an operation has at a version."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import parse_qsl

from placement.api.history import HISTORY, v
from placement.api.microversion import Microversion
from placement.api.shapes import Fragment
from placement.errors import BadQuery
from placement.objects import identifiers

Pairs = Sequence[tuple[str, str]]

# Parameters and listed values of a query: SQLite takes 32,766 parameters in a statement, and an
# aggregate has some five spellings.
MAX_ITEMS = 5_000
MAX_REPEATED = 80  # characters of a value in an error

_POSITIVE = re.compile(r"[1-9][0-9]*\Z", re.ASCII)


def matching(pattern: str) -> Fragment:
    """Return the schema of values that match a pattern as a whole."""
    return {"type": "string", "pattern": f"^{pattern}$"}


@dataclass(frozen=True, slots=True)
class Parameter:
    """A query parameter.

    since: below it the parameter is unknown. about: what it does, for the API's document. schema:
    of its values, as far as one says it. suffixed: it names a request group by what follows its
    name, where the version has such groups. required: an answer needs it.
    """

    since: str
    about: str
    schema: Fragment = field(default_factory=lambda: {"type": "string"})
    suffixed: bool = False
    required: bool = False

    def __post_init__(self) -> None:
        if v(self.since) not in HISTORY:
            raise ValueError(f"no such microversion: {self.since}")


# What is expected where a value is no UUID: often it is the name.
PROVIDER_UUID = (
    "expected the UUID of a resource provider, which GET /resource_providers?name=NAME shows"
)


def bad(key: str, value: str, what: str, code: str | None = None) -> BadQuery:
    """Return the error for a parameter: its name, its value and what is wrong with it."""
    repeated = value if len(value) <= MAX_REPEATED else f"{value[:MAX_REPEATED]}…"
    text = f"{key}={repeated!r}: {what}"
    return BadQuery(text) if code is None else BadQuery(text, code)


def positive(key: str, value: str) -> int:
    """Return the integer that a value states.  Raises BadQuery unless it is at least 1."""
    if not _POSITIVE.match(value):
        raise bad(key, value, "expected an integer of at least 1")
    # More digits than that bound nothing.
    return int(value[:18])


def pairs(query_string: str) -> Pairs:
    """Decode a query string; blank values, order and repeats are kept.

    Raises BadQuery for what is not UTF-8, for texts that cannot be stored, and for too many items.
    """
    try:
        text = query_string.encode("latin-1").decode("utf-8")
        decoded = parse_qsl(text, keep_blank_values=True, errors="strict")
    except (UnicodeError, ValueError) as error:
        raise BadQuery(f"The query string is not valid UTF-8: {error}") from None
    items = sum(1 + value.count(",") for _key, value in decoded)
    if items > MAX_ITEMS:
        raise BadQuery(
            f"The query names {items} things (parameters and values between commas): "
            f"{MAX_ITEMS} are the most"
        )
    for key, value in decoded:
        if not identifiers.storable(value):
            raise bad(key, value, "a null character or a lone surrogate cannot be used")
    return decoded


def last_values(
    query: Pairs, parameters: Mapping[str, Parameter], version: Microversion
) -> dict[str, str]:
    """Return the last value of each parameter.  Raises BadQuery for one that the version lacks."""
    for key, value in query:
        if key not in parameters or version < v(parameters[key].since):
            raise unknown(key, value, parameters, version)
    return dict(query)


def unknown(
    key: str, value: str, parameters: Mapping[str, Parameter], version: Microversion
) -> BadQuery:
    """Return the error for a parameter that does not exist, or not yet at this version."""
    if key in parameters and version < v(parameters[key].since):
        return bad(
            key, value, f"this parameter exists from microversion {parameters[key].since} on"
        )
    names = sorted(name for name, parameter in parameters.items() if version >= v(parameter.since))
    return bad(key, value, f"no such parameter; there are {', '.join(names) or 'none'}")


def refuse_parameters(query_string: str, version: Microversion) -> None:
    """Raise BadQuery if there are any."""
    last_values(pairs(query_string), {}, version)


def check_feature(
    key: str, value: str, what: str, since: Microversion, version: Microversion
) -> None:
    """Raise BadQuery for a form of values that came with a later version."""
    if version < since:
        raise bad(key, value, f"{what} needs microversion {since} or later")
