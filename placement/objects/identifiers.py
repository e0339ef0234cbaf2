"""UUIDs as clients write them and as rows hold them.

Providers and consumers are stored in the canonical form (lower case, dashed). Rows of an adopted
database may hold another one, so a look-up asks for the form given and for the canonical one.

Aggregates keep the spelling in which they were first sent, where it is a usual one: a look-up asks
for all of these, by the unique index. Rows of an adopted database, and writers at the same time,
may have several rows for one aggregate; these are one wherever aggregates are compared.
"""

import re
import uuid
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import TypeVar

T = TypeVar("T")

LONGEST = 36
LONGEST_LIKE = 128  # characters of what may be meant for one; decorations come seldom
_UUID_LIKE = re.compile(r"[0-9A-Fa-f-]+\Z")
_DECORATION = re.compile(r"urn:|uuid:|[{}]")


def canonical(text: str) -> str | None:
    """The canonical form of anything uuid-like, or None."""
    if len(text) > LONGEST_LIKE or not _UUID_LIKE.match(_DECORATION.sub("", text)):
        return None
    try:
        return str(uuid.UUID(text))
    except ValueError:
        return None


def storable(text: str) -> bool:
    """Whether every database can hold the text: no NUL, no lone surrogates."""
    return "\x00" not in text and not any("\ud800" <= char <= "\udfff" for char in text)


def forms(*given: str) -> set[str]:
    """The forms under which rows may hold the identifiers; none for what no row can hold."""
    found = set()
    for text in given:
        if len(text) <= LONGEST and storable(text):
            found.add(text)
        normal = canonical(text)
        if normal is not None:
            found.add(normal)
    return found


def _usual(text: str) -> tuple[str, ...]:
    """The spellings of a UUID that clients use; none for anything else."""
    normal = canonical(text)
    if normal is None:
        return ()
    plain = normal.replace("-", "")
    return normal, plain, normal.upper(), plain.upper()


def spellings(*given: str) -> set[str]:
    """The spellings under which rows may hold the aggregates; none for what no row can hold."""
    return forms(*given).union(*map(_usual, given))


def kept(given: str) -> str:
    """The spelling of an aggregate that a new row gets: the one given, if it is a usual one."""
    return given if given in _usual(given) else key(given)


# PERF: a few aggregates are named by all hosts.
@lru_cache(maxsize=10_000)
def key(text: str) -> str:
    """What all spellings of one UUID have in common."""
    return canonical(text) or text


def by_key(ids: Mapping[str, int]) -> dict[str, frozenset[int]]:
    """Group the ids of rows (spelling -> id) by what they mean: key -> ids."""
    found: dict[str, frozenset[int]] = {}
    for spelling, row_id in ids.items():
        found[key(spelling)] = found.get(key(spelling), frozenset()) | {row_id}
    return found


def match(given: Iterable[str], rows: Mapping[str, T]) -> dict[str, T]:
    """Find the row of each identifier: the form given before any other form of the same UUID.

    Of several others it is the first.
    """
    by_canonical: dict[str, T] = {}
    for name, of_name in rows.items():
        by_canonical.setdefault(canonical(name) or name, of_name)
    found = {}
    for text in given:
        row = rows.get(text) or by_canonical.get(canonical(text) or text)
        if row is not None:
            found[text] = row
    return found
