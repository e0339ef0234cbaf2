"""UUIDs as clients write them and as rows hold them.

What is stored anew is canonical (lower case, dashed). Rows of an adopted database may hold
another form, so a look-up asks for the form given and for the canonical one.
"""

import re
import uuid
from collections.abc import Iterable, Mapping
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


def match(given: Iterable[str], rows: Mapping[str, T]) -> dict[str, T]:
    """Find the row of each identifier: the form given before any other form of the same UUID."""
    by_canonical = {canonical(name) or name: row for name, row in rows.items()}
    found = {}
    for text in given:
        row = rows.get(text) or by_canonical.get(canonical(text) or text)
        if row is not None:
            found[text] = row
    return found
