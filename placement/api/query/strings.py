"""Decoding of query strings, and which parameters an operation knows at a version."""

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
SHOWN = 80  # characters of a value that are repeated to the client


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


def bad(key: str, value: str, what: str, code: str | None = None) -> BadQuery:
    """The error for a parameter: it says which, its value and what is wrong with it."""
    shown = value if len(value) <= SHOWN else f"{value[:SHOWN]}…"
    text = f"{key}={shown!r}: {what}"
    return BadQuery(text) if code is None else BadQuery(text, code)


def pairs(query_string: str) -> Pairs:
    """Decode a query string; blank values are kept, order and repeats matter."""
    try:
        found = parse_qsl(
            query_string.encode("latin-1").decode("utf-8"), keep_blank_values=True, errors="strict"
        )
    except (UnicodeError, ValueError) as error:
        raise BadQuery(f"The query string is not valid UTF-8: {error}") from None
    items = sum(1 + value.count(",") for _key, value in found)
    if items > MAX_ITEMS:
        raise BadQuery(
            f"The query names {items} things (parameters and values between commas): "
            f"{MAX_ITEMS} are the most"
        )
    for key, value in found:
        if not identifiers.storable(value):
            raise bad(key, value, "a null character or a lone surrogate cannot be used")
    return found


def last_values(
    given: Pairs, known: Mapping[str, Parameter], version: Microversion
) -> dict[str, str]:
    """The last value of each parameter.  Raises BadQuery for one that the version lacks."""
    for key, value in given:
        if key not in known or version < v(known[key].since):
            raise unknown(key, value, known, version)
    return dict(given)


def unknown(
    key: str, value: str, known: Mapping[str, Parameter], version: Microversion
) -> BadQuery:
    """The error for a parameter that there is not, or not yet."""
    if key in known and version < v(known[key].since):
        return bad(key, value, f"this parameter exists from microversion {known[key].since} on")
    there = sorted(name for name, each in known.items() if version >= v(each.since))
    return bad(key, value, f"no such parameter; there are {', '.join(there)}")


def check_feature(
    key: str, value: str, what: str, since: Microversion, version: Microversion
) -> None:
    """Raise BadQuery when a value uses a form that came with a later version."""
    if version < since:
        raise bad(key, value, f"{what} needs microversion {since} or later")
