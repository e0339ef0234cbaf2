"""UUIDs in the forms that clients send and that rows contain.

Providers and consumers are stored in canonical form (lower case with dashes). Rows of an adopted
database may have another form, so a lookup searches for both the form in the request and the
canonical form.

Aggregates keep the spelling of the first request if this spelling is common. A lookup searches the
unique index for all common spellings. In an adopted database or after concurrent writes, one
aggregate may have several rows. Comparisons treat these rows as the same aggregate.
"""

import re
import uuid
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import TypeVar

T = TypeVar("T")

# Maximum length of an identifier in a row, in characters.
MAX_STORED_LENGTH = 36
# Maximum length of a text that may be parsed as a UUID with additional characters.
MAX_PARSED_LENGTH = 128
_SURROGATE = re.compile("[\ud800-\udfff]")
_UUID_LIKE = re.compile(r"[0-9A-Fa-f-]+\Z")
_CANONICAL = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_DECORATION = re.compile(r"urn:|uuid:|[{}]")


def canonical(text: str) -> str | None:
    """Return the canonical form of a text that can be parsed as a UUID, or None."""
    if _CANONICAL.fullmatch(text):  # PERF: this is the most common case
        return text
    if len(text) > MAX_PARSED_LENGTH or not _UUID_LIKE.match(_DECORATION.sub("", text)):
        return None
    try:
        return str(uuid.UUID(text))
    except ValueError:
        return None


def storable(text: str) -> bool:
    """Return whether every database can store the text.

    It must not contain NUL or lone surrogates.
    """
    return "\x00" not in text and not _SURROGATE.search(text)


def stored_forms(*texts: str) -> set[str]:
    """Return the forms of identifiers that rows may contain. Texts that are too long have none."""
    forms: set[str] = set()
    for text in texts:
        if len(text) <= MAX_STORED_LENGTH and storable(text):
            forms.add(text)
        canonical_form = canonical(text)
        if canonical_form is not None:
            forms.add(canonical_form)
    return forms


def _usual_spellings(text: str) -> tuple[str, ...]:
    """Return the spellings of a UUID that clients use. Texts that are not UUIDs have none."""
    dashed = canonical(text)
    if dashed is None:
        return ()
    plain = dashed.replace("-", "")
    return dashed, plain, dashed.upper(), plain.upper()


def spellings(*texts: str) -> set[str]:
    """Return the spellings of aggregates that rows may contain.

    Texts that are too long have none.
    """
    return set().union(*map(_spellings_of, texts))


# PERF: searches with sharing providers repeatedly look up the same aggregates.
@lru_cache(maxsize=1000)
def _spellings_of(text: str) -> frozenset[str]:
    return frozenset(stored_forms(text).union(_usual_spellings(text)))


def new_spelling(text: str) -> str:
    """Return the spelling of a new aggregate. A common spelling is not changed."""
    return text if text in _usual_spellings(text) else key(text)


# PERF: all hosts use the same few aggregates.
@lru_cache(maxsize=10_000)
def key(text: str) -> str:
    """Return the key that all spellings of one UUID share."""
    return canonical(text) or text


def ids_by_key(ids: Mapping[str, int]) -> dict[str, frozenset[int]]:
    """Group the ids of rows (spelling -> id) by UUID. Return key -> ids."""
    groups: dict[str, frozenset[int]] = {}
    for spelling, row_id in ids.items():
        groups[key(spelling)] = groups.get(key(spelling), frozenset()) | {row_id}
    return groups


def match(texts: Iterable[str], rows: Mapping[str, T]) -> dict[str, T]:
    """Return the row of each identifier: one with the same form, or else the first of its UUID."""
    by_canonical: dict[str, T] = {}
    for stored, row in rows.items():
        by_canonical.setdefault(canonical(stored) or stored, row)
    matches: dict[str, T] = {}
    for text in texts:
        stored_row = rows.get(text) or by_canonical.get(canonical(text) or text)
        if stored_row is not None:
            matches[text] = stored_row
    return matches
