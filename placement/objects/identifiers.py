"""UUIDs as clients write them and as rows hold them.

Providers and consumers are stored in the canonical form (lower case, dashed). Rows of an adopted
database may hold another one, so a look-up asks for the form of the request and the canonical one.

Aggregates keep the spelling in which they were first sent, if it is a usual one. A look-up asks
for all usual spellings, by the unique index. One aggregate may have several rows, in an adopted
database or after concurrent writes; wherever aggregates are compared, these count as one.
"""

import re
import uuid
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import TypeVar

T = TypeVar("T")

LONGEST = 36  # characters that a row can hold
LONGEST_LIKE = 128  # characters of a text that may be a UUID with decorations
_SURROGATE = re.compile("[\ud800-\udfff]")
_UUID_LIKE = re.compile(r"[0-9A-Fa-f-]+\Z")
_CANONICAL = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_DECORATION = re.compile(r"urn:|uuid:|[{}]")


def canonical(text: str) -> str | None:
    """Return the canonical form of anything uuid-like, or None."""
    if _CANONICAL.fullmatch(text):  # PERF: most are
        return text
    if len(text) > LONGEST_LIKE or not _UUID_LIKE.match(_DECORATION.sub("", text)):
        return None
    try:
        return str(uuid.UUID(text))
    except ValueError:
        return None


def storable(text: str) -> bool:
    """Whether every database can hold the text: no NUL, no lone surrogates."""
    return "\x00" not in text and not _SURROGATE.search(text)


def stored_forms(*texts: str) -> set[str]:
    """Return the forms in which rows may hold identifiers; none for what no row can hold."""
    forms: set[str] = set()
    for text in texts:
        if len(text) <= LONGEST and storable(text):
            forms.add(text)
        canonical_form = canonical(text)
        if canonical_form is not None:
            forms.add(canonical_form)
    return forms


def _usual_spellings(text: str) -> tuple[str, ...]:
    """Return the spellings of a UUID that clients use; none for anything else."""
    dashed = canonical(text)
    if dashed is None:
        return ()
    plain = dashed.replace("-", "")
    return dashed, plain, dashed.upper(), plain.upper()


def spellings(*texts: str) -> set[str]:
    """Return the spellings in which rows may hold aggregates; none for what no row can hold."""
    return set().union(*map(_spellings_of, texts))


# PERF: searches beside sharing providers ask for the same aggregates again and again.
@lru_cache(maxsize=1000)
def _spellings_of(text: str) -> frozenset[str]:
    return frozenset(stored_forms(text).union(_usual_spellings(text)))


def new_spelling(text: str) -> str:
    """Return the spelling for an aggregate's new row: the text itself, if it is a usual one."""
    return text if text in _usual_spellings(text) else key(text)


# PERF: all hosts name the same few aggregates.
@lru_cache(maxsize=10_000)
def key(text: str) -> str:
    """Return what all spellings of one UUID have in common."""
    return canonical(text) or text


def ids_by_key(ids: Mapping[str, int]) -> dict[str, frozenset[int]]:
    """Group the ids of rows (spelling -> id) by the UUID that they mean: key -> ids."""
    groups: dict[str, frozenset[int]] = {}
    for spelling, row_id in ids.items():
        groups[key(spelling)] = groups.get(key(spelling), frozenset()) | {row_id}
    return groups


def match(texts: Iterable[str], rows: Mapping[str, T]) -> dict[str, T]:
    """Return the row of each identifier: one in the same form, or else the first of the UUID."""
    by_canonical: dict[str, T] = {}
    for stored, row in rows.items():
        by_canonical.setdefault(canonical(stored) or stored, row)
    matches: dict[str, T] = {}
    for text in texts:
        stored_row = rows.get(text) or by_canonical.get(canonical(text) or text)
        if stored_row is not None:
            matches[text] = stored_row
    return matches
