"""The version that a request asks for."""

from functools import lru_cache
from typing import NamedTuple

import microversion_parse

SERVICE = "placement"
HEADER = "OpenStack-API-Version"


class Microversion(NamedTuple):
    """Major and minor number; compares as numbers do."""

    major: int
    minor: int

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}"


class MalformedVersionError(ValueError):
    """The header does not hold a version; the argument is its value."""


# PERF: callers state one of a few versions.
@lru_cache(maxsize=100)
def requested(header: str | None, latest: Microversion) -> Microversion:
    """Return the version that a header asks for, 1.0 when it names none.

    Raises MalformedVersionError. The caller checks whether the version is served.
    """
    stated = microversion_parse.get_version({HEADER.lower(): header or ""}, service_type=SERVICE)
    if stated is None:
        return Microversion(1, 0)
    if stated == "latest":
        return latest
    try:
        version = microversion_parse.parse_version_string(stated)
    except TypeError:
        raise MalformedVersionError(stated) from None
    return Microversion(version.major, version.minor)
