"""The microversion that a request states."""

import re
from functools import lru_cache
from typing import NamedTuple

import microversion_parse

SERVICE = "placement"
HEADER = "OpenStack-API-Version"

# A header that does not name the service.
_VERSION_ALONE = re.compile(r"[0-9]{1,3}\.[0-9]{1,3}|latest", re.ASCII)


class Microversion(NamedTuple):
    """Major and minor number, compared numerically."""

    # Number before the dot.
    major: int
    # Number after the dot.
    minor: int

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}"


def exists_from(version: object) -> str:
    """Return the end of a sentence about an operation or a parameter of later versions."""
    return f"exists from microversion {version} on: send {HEADER}: {SERVICE} {version} or later"


def ignored(header: str | None) -> str:
    """Return the end of a sentence about a header that contains a version but no service, or "".

    Such a header is ignored, like the headers of other services.
    """
    version = (header or "").strip()
    if not _VERSION_ALONE.fullmatch(version):
        return ""
    return (
        f"; the header {HEADER}: {version} is ignored, because it does not name the service: send "
        f"{HEADER}: {SERVICE} {version}"
    )


class MalformedVersionError(ValueError):
    """The header does not contain a version. The argument is the value of the header."""


# PERF: most callers use one of a few versions.
@lru_cache(maxsize=100)
def requested(header: str | None, latest: Microversion) -> Microversion:
    """Return the version of a header, or 1.0 for a header without a version.

    The caller must check whether the version is supported.

    Raises:
        MalformedVersionError: the header is malformed.
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
