"""Microversions: their history, the features that they introduced, and the header of a request.

The history contains two series of versions. The 1.x versions are defined by OpenStack. A new
version of OpenStack is added before 2.0. The 2.x versions are defined by this service and include
all features of 1.x.

Code uses versions in only three ways: the first version of an operation (`routes`), a table of
values by version (`Versioned`), and a `Feature`, which becomes a named option below the API. Each
of them checks on import that its versions exist.
"""

import re
from collections.abc import Callable, Mapping
from enum import Enum
from functools import lru_cache
from typing import Generic, NamedTuple, TypeVar

import microversion_parse

T = TypeVar("T")
U = TypeVar("U")

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


def v(text: str) -> Microversion:
    """Parse a version, as in `v("1.39")`."""
    major, minor = text.split(".")
    return Microversion(int(major), int(minor))


HISTORY: Mapping[Microversion, str] = {
    v("1.0"): "Resource providers, inventories, usages, allocations.",
    v("1.1"): "Aggregates of a provider.",
    v("1.2"): "Resource classes.",
    v("1.3"): "Filter member_of on resource providers.",
    v("1.4"): "Filter resources on resource providers.",
    v("1.5"): "Delete all inventories of a provider.",
    v("1.6"): "Traits.",
    v("1.7"): "PUT of a resource class creates or verifies it, without a body.",
    v("1.8"): "project_id and user_id are required in allocations.",
    v("1.9"): "Usages of projects and users.",
    v("1.10"): "Allocation candidates.",
    v("1.11"): "Link to allocations on resource providers.",
    v("1.12"): "Allocations as an object, as candidates give them.",
    v("1.13"): "Allocations of several consumers in one POST.",
    v("1.14"): "Nested resource providers; filter in_tree.",
    v("1.15"): "Last-Modified and Cache-Control headers.",
    v("1.16"): "limit on allocation candidates.",
    v("1.17"): "required on allocation candidates; traits in summaries.",
    v("1.18"): "Filter required on resource providers.",
    v("1.19"): "Generation in the aggregates of a provider.",
    v("1.20"): "POST of a resource provider returns it.",
    v("1.21"): "member_of on allocation candidates.",
    v("1.22"): "Forbidden traits.",
    v("1.23"): "code in errors.",
    v("1.24"): "Repeated member_of.",
    v("1.25"): "Numbered request groups; group_policy.",
    v("1.26"): "reserved may equal total.",
    v("1.27"): "All inventories in summaries.",
    v("1.28"): "Consumer generations.",
    v("1.29"): "Candidates span provider trees.",
    v("1.30"): "Reshaper.",
    v("1.31"): "in_tree on allocation candidates.",
    v("1.32"): "Forbidden aggregates.",
    v("1.33"): "Suffixes of request groups may be strings.",
    v("1.34"): "mappings in allocation candidates.",
    v("1.35"): "root_required on allocation candidates.",
    v("1.36"): "same_subtree and resourceless request groups.",
    v("1.37"): "Providers may be moved to another parent.",
    v("1.38"): "Consumer types.",
    v("1.39"): "Any of several traits: in: and repeated required.",
    v("2.0"): "The whole request language, claims in one step, holds, changes and simulations.",
}


class Line(NamedTuple):
    """The versions of one major number."""

    # First version of the series.
    oldest: Microversion
    # Last version of the series.
    newest: Microversion
    # Status in the version document, which clients use to select a version.
    status: str

    @property
    def name(self) -> str:
        """The name of the series in the version document."""
        return f"v{self.oldest}"


def _line(major: int, status: str) -> Line:
    versions = [version for version in HISTORY if version.major == major]
    return Line(min(versions), max(versions), status)


# Clients must request 2.x by its number. The version document lists 2.x only at 2.x.
LINES = (_line(1, "CURRENT"), _line(2, "SUPPORTED"))
OLDEST, LATEST, _status = LINES[0]


class Feature(Enum):
    """A behaviour that a version introduced."""

    ALLOCATION_OWNERS = "1.8"
    CACHE_HEADERS = "1.15"
    AGGREGATE_GENERATION = "1.19"
    CREATED_PROVIDER_SHOWN = "1.20"
    FORBIDDEN_TRAITS = "1.22"
    ERROR_CODES = "1.23"
    REPEATED_MEMBER_OF = "1.24"
    ALL_RESERVED = "1.26"
    ALL_INVENTORIES = "1.27"
    NESTED_CANDIDATES = "1.29"
    FORBIDDEN_AGGREGATES = "1.32"
    MAPPINGS = "1.34"
    RESOURCELESS_GROUPS = "1.36"
    MOVES = "1.37"
    ANY_TRAITS = "1.39"
    WHOLE_LANGUAGE = "2.0"

    @property
    def since(self) -> Microversion:
        """The first version with the feature."""
        return _SINCE[self]

    def at(self, version: Microversion) -> bool:
        """Return whether a version has the feature."""
        return version >= _SINCE[self]


_SINCE = {feature: v(feature.value) for feature in Feature}
if unknown := _SINCE.values() - HISTORY.keys():
    raise ValueError(f"no such microversion: {unknown}")


class Versioned(Generic[T]):
    """A value for each version from the first one on."""

    def __init__(self, table: Mapping[str, T]) -> None:
        """Create a table. Raises ValueError if it is empty or not ordered by version."""
        entries = [(v(since), value) for since, value in table.items()]
        versions = [since for since, _value in entries]
        if not entries or versions != sorted(set(versions)):
            raise ValueError(f"versions must be in order, each once: {list(table)}")
        unknown = [str(since) for since in versions if since not in HISTORY]
        if unknown:
            raise ValueError(f"no such microversion: {', '.join(unknown)}")
        self.table = table
        self.entries = entries

    @property
    def since(self) -> Microversion:
        """The first version that has a value."""
        return self.entries[0][0]

    def at(self, version: Microversion) -> T:
        """Return the value at a version.  Raises LookupError below the first one."""
        for since, value in reversed(self.entries):
            if since <= version:
                return value
        raise LookupError(f"nothing before {self.since}")

    def map(self, change: Callable[[T], U], since: str | None = None) -> "Versioned[U]":
        """Return a table with each value changed, beginning at `since` if it is given."""
        table: dict[str, U] = {}
        if since is not None:
            table[since] = change(self.at(v(since)))
        for at, value in self.table.items():
            if since is None or v(at) > v(since):
                table[at] = change(value)
        return Versioned(table)


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
