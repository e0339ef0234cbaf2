"""Lists of the owners of consumers, in the format in which other services print them."""

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from placement.errors import ConfigurationError
from placement.objects import identifiers

STANDARD_INPUT = "-"


def read_owners(path: str) -> set[str]:
    """Return the UUIDs in a file that contains one UUID on each line. `-` is standard input.

    Raises:
        ConfigurationError: the list cannot be read, contains anything else, or is empty. With an
            empty list, all consumers would appear to have no owner.
    """
    name = "standard input" if path == STANDARD_INPUT else path
    try:
        with _lines(path) as lines:
            uuids = set(_uuids(lines, name))
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise ConfigurationError(f"{name}: cannot be read: {reason}") from None
    if not uuids:
        raise ConfigurationError(f"{name}: the list of owners is empty")
    return uuids


@contextmanager
def _lines(path: str) -> Iterator[Iterable[str]]:
    if path == STANDARD_INPUT:
        yield sys.stdin
        return
    with Path(path).open(encoding="utf-8") as file:
        yield file


def _uuids(lines: Iterable[str], name: str) -> Iterator[str]:
    for number, line in enumerate(lines, 1):
        text = line.strip().strip('"')
        if not text or (number == 1 and text == "ID"):  # the header line of CSV
            continue
        uuid = identifiers.canonical(text)
        if uuid is None:
            raise ConfigurationError(f"{name}:{number}: {text[:60]!r} is not a UUID")
        yield uuid
