"""The responses of two services to one request, in a form that can be compared."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from urllib.parse import parse_qsl

CANDIDATES = "/allocation_candidates"

# What clients search for in the text of an error.
PHRASES = (
    "Conflicting resource provider name:",
    "Conflicting resource provider uuid:",
    "consumer generation conflict",
    "concurrently updated",
    "No resource provider with uuid",
    "No inventory of class",
    "Inventory for .* on resource provider .* in use",
)

# Further phrases, which the last line of an error of this service must contain as well.
LAST_LINE = (
    "No inventory of class .* for ",
    "No inventory of class .* found for delete",
    "Unknown resource class",
    "No such resource class",
    "Please update the generation and try again\\.",
    "No allocations for consumer '.*'",
    "JSON does not validate",
    "Cannot (delete|update) standard",
    "-parenting a provider is not currently allowed",
)

# Aspect -> its values in the response of this service and of the other one.
Differences = dict[str, tuple[Any, Any]]


@dataclass(frozen=True)
class Request:
    """A request without a body."""

    method: str
    path: str
    # Of microversion 1.x.
    minor: int
    query: str = ""

    @property
    def target(self) -> str:
        """The path with the query."""
        return f"{self.path}?{self.query}" if self.query else self.path

    @property
    def is_limited(self) -> bool:
        """Whether the response contains any of the candidates, up to a number."""
        return self.path == CANDIDATES and "limit" in dict(parse_qsl(self.query))


@dataclass(frozen=True)
class ServerResponse:
    """An HTTP response. The names of headers are in lower case."""

    status: int
    headers: Mapping[str, str]
    raw: bytes

    @cached_property
    def body(self) -> Any:
        """The decoded JSON body, or None if the body is not JSON."""
        try:
            return json.loads(self.raw)
        except (ValueError, RecursionError):
            return None

    @property
    def error(self) -> Mapping[str, Any]:
        """The error object. Empty if there is none."""
        errors = self.body.get("errors") if isinstance(self.body, dict) else None
        error = errors[0] if isinstance(errors, list) and errors else None
        return error if isinstance(error, dict) else {}

    @property
    def detail(self) -> str:
        """The text of an error."""
        return str(self.error.get("detail", ""))


def differences(request: Request, ours: ServerResponse, other: ServerResponse) -> Differences:
    """Return the aspects in which the response of this service differs from the other one."""
    found = unequal(_aspects(request, ours), _aspects(request, other))
    if ours.status >= 400 and (missing := _missing(request, ours, other)):
        found.setdefault("phrases", ([], missing))
    return found


def unequal(one: Mapping[str, Any], other: Mapping[str, Any]) -> Differences:
    """Return the aspects with different values."""
    return {
        name: (one.get(name), other.get(name))
        for name in (*one, *(other.keys() - one.keys()))
        if one.get(name) != other.get(name)
    }


def _aspects(request: Request, response: ServerResponse) -> dict[str, Any]:
    headers, error = response.headers, response.error
    # A proxy that compresses responses adds this name.
    vary = {*headers.get("vary", "").replace(" ", "").lower().split(",")} - {"accept-encoding"}
    found: dict[str, Any] = {
        "status": response.status,
        "version": headers.get("openstack-api-version"),
        "vary": sorted(vary),
        "cache": headers.get("cache-control"),
        "modified": "last-modified" in headers,
        "type": headers.get("content-type", "").partition(";")[0],
        "challenge": headers.get("www-authenticate"),
        "id": headers.get("x-openstack-request-id", "").startswith("req-"),
    }
    if response.status >= 400:
        found["code"] = error.get("code")
        found["title"] = error.get("title")
        found["members"] = sorted(error)
        found["versions"] = error.get("max_version"), error.get("min_version")
        # Which of name and UUID is taken is only stated when a provider is created.
        phrases = PHRASES[2:] if request.method == "PUT" else PHRASES
        found["phrases"] = [each for each in phrases if re.search(each, response.detail)]
    else:
        found["body"] = normal(request, response.body)
    return found


def _missing(request: Request, ours: ServerResponse, other: ServerResponse) -> list[str]:
    """Return the phrases of the other response that are missing in the text of this service."""
    if request.path.startswith("/resource_classes/") and request.minor >= 7:
        return []  # a bad name in the path is no JSON
    last = ours.detail.rpartition("\n")[2]
    return [
        each for each in LAST_LINE if re.search(each, other.detail) and not re.search(each, last)
    ]


def normal(request: Request, body: Any) -> Any:
    """Return the body without the order of lists, which is unspecified.

    A limit selects any of the candidates, so only their number remains.
    """
    if isinstance(body, dict) and isinstance(body.get("allocation_requests"), list):
        if request.is_limited:
            return {"candidates": len(body["allocation_requests"])}
        return {**_sorted(body), "allocation_requests": candidates(body)}
    return _sorted(body)


def candidates(body: Any) -> list[str]:
    """Return the candidates in a body as texts, sorted. Empty if the body has no list of them."""
    found = body.get("allocation_requests") if isinstance(body, dict) else None
    listed = found if isinstance(found, list) else []
    return sorted(json.dumps(_sorted(each), sort_keys=True) for each in listed)


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _sorted(each) for key, each in value.items()}
    if isinstance(value, list):
        return sorted(map(_sorted, value), key=lambda each: json.dumps(each, sort_keys=True))
    return value
