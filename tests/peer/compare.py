"""The comparison of two responses to one request."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from urllib.parse import parse_qsl

from tests.peer.generator import Request
from tests.peer.servers import Server

# What clients look for in the text of an error, and with which status.
PHRASES = (
    "Conflicting resource provider name:",
    "Conflicting resource provider uuid:",
    "consumer generation conflict",
    "concurrently updated",
    "No resource provider with uuid",
    "No inventory of class",
    "Inventory for .* on resource provider .* in use",
)

# Further words to look for, and words that may additionally occur in our texts.
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

# Headers that have an aspect of their own. Of all others, the names are compared.
COMPARED_HEADERS = frozenset(
    [
        "openstack-api-version", "vary", "cache-control", "last-modified", "location",
        "content-type", "allow", "www-authenticate", "x-openstack-request-id",
    ]
)  # fmt: skip


@dataclass(frozen=True)
class Answer:
    """An HTTP response; header names are in lower case."""

    status: int
    headers: Mapping[str, str]
    raw: bytes

    @cached_property
    def body(self) -> Any:
        """Return the decoded JSON body, or None if the body is not JSON."""
        try:
            return json.loads(self.raw)
        except ValueError:
            return None

    @property
    def error(self) -> Mapping[str, Any]:
        """Return the error object. Empty if there is none."""
        errors = self.body.get("errors") if isinstance(self.body, dict) else None
        return errors[0] if errors else {}

    @property
    def detail(self) -> str:
        """The text of an error."""
        return str(self.error.get("detail", ""))


def send(server: Server, request: Request) -> Answer:
    """Send a request to one server."""
    response = server.session.request(
        request.method,
        f"{server.url}{request.path}{'?' if request.query else ''}{request.query}",
        data=request.body,
        headers={"Accept": None, **request.all_headers()},
        allow_redirects=False,
        timeout=60,
    )
    headers = {key.lower(): value for key, value in response.headers.items()}
    return Answer(response.status_code, headers, response.content)


Aspects = Mapping[str, Any]


def aspects(request: Request, answer: Answer) -> Aspects:
    """The compared parts of a response, in a normal form."""
    headers, error = answer.headers, answer.error
    location = headers.get("location", "")
    found: dict[str, Any] = {
        "status": answer.status,
        "version": headers.get("openstack-api-version"),
        "vary": headers.get("vary"),
        "cache": headers.get("cache-control"),
        "modified": "last-modified" in headers,
        "location": location.split("/", 3)[3:] if "//" in location else location,
        "type": headers.get("content-type", "").partition(";")[0],
        "allow": sorted(headers.get("allow", "").replace(" ", "").split(",")),
        "challenge": headers.get("www-authenticate"),
        "id": headers.get("x-openstack-request-id", "").startswith("req-"),
        "others": sorted(headers.keys() - COMPARED_HEADERS),
    }
    if answer.status >= 400:
        found["code"] = error.get("code")
        found["title"] = error.get("title")
        found["members"] = sorted(error)
        found["versions"] = error.get("max_version"), error.get("min_version")
        found["phrases"] = [each for each in _phrases(request) if re.search(each, answer.detail)]
    else:
        found["body"] = normal(request, answer.body)
    return found


def _missing(request: Request, ours: Answer, peer: Answer) -> list[str]:
    """Return the phrases in the peer's text that are missing in the text of this service."""
    if request.path.startswith("/resource_classes/") and request.minor >= 7:
        return []  # a bad name in the path is no JSON
    ours_last = ours.detail.rpartition("\n")[2]
    return [
        each
        for each in LAST_LINE
        if re.search(each, peer.detail) and not re.search(each, ours_last)
    ]


def _phrases(request: Request) -> Sequence[str]:
    # The peer says which of name and UUID is taken only when a provider is created.
    return PHRASES[2:] if request.method == "PUT" else PHRASES


def normal(request: Request, body: Any) -> Any:
    """The body without what is unspecified: the order of lists, and which candidates a limit
    leaves."""
    if isinstance(body, dict) and "allocation_requests" in body:
        if "limit" in dict(parse_qsl(request.query)):
            return "limited"
        shown = [json.dumps(_sorted(each), sort_keys=True) for each in body["allocation_requests"]]
        return {**_sorted(body), "allocation_requests": sorted(shown)}
    return _sorted(body)


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _sorted(each) for key, each in value.items()}
    if isinstance(value, list):
        return sorted(map(_sorted, value), key=lambda each: json.dumps(each, sort_keys=True))
    return value


def differences(request: Request, ours: Answer, peer: Answer) -> dict[str, tuple[Any, Any]]:
    """Return aspect -> the two values, for aspects that differ."""
    one, other = aspects(request, ours), aspects(request, peer)
    found = {
        name: (one.get(name), other.get(name))
        for name in (*one, *(other.keys() - one.keys()))
        if one.get(name) != other.get(name)
    }
    if ours.status >= 400 and (missing := _missing(request, ours, peer)):
        found.setdefault("phrases", ([], missing))
    return found
