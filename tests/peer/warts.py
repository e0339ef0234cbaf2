"""Allowed differences from the peer's responses: faults of the peer that we do not repeat.

Numbers refer to the contract's wart register (README section 12), whose verdict on each of these is
"free" or "fix". A difference that no row explains fails the comparison.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl

from tests.kit.engines import ENGINE
from tests.peer.compare import Answer, normal
from tests.peer.generator import GROUP_KEYS, Request

HEADERS = frozenset({"vary", "version"})
ERROR_FORM = frozenset({"type", "code", "title", "members", "phrases", "versions"})
ANSWER = ERROR_FORM | {"status", "body", "cache", "modified", "vary", "location"}
SHARING = "MISC_SHARES_VIA_AGGREGATE"

Explains = Callable[[Request, Answer, Answer], bool]


@dataclass(frozen=True)
class Wart:
    """One row: the aspects of a response that it affects, and when."""

    number: str
    reason: str
    touches: Collection[str]
    explains: Explains


def _statuses(ours: Answer, peer: Answer) -> tuple[int, int]:
    return ours.status, peer.status


def _pairs(request: Request) -> list[tuple[str, str]]:
    return parse_qsl(request.query, keep_blank_values=True)


def _groups(request: Request) -> dict[str, dict[str, list[str]]]:
    """Suffix -> keyword -> values of a query for candidates."""
    found: dict[str, dict[str, list[str]]] = {}
    for key, value in _pairs(request):
        for keyword in GROUP_KEYS:
            if key.startswith(keyword):
                suffix = key.removeprefix(keyword)
                found.setdefault(suffix, {}).setdefault(keyword, []).append(value)
    return found


def _classes(values: list[str]) -> set[str]:
    return {item.partition(":")[0] for value in values for item in value.split(",")}


def _same_class_twice(request: Request) -> bool:
    """The unsuffixed and a suffixed group ask for one class, and not with `none`."""
    groups = {key: _classes(each.get("resources", [])) for key, each in _groups(request).items()}
    plain = groups.pop("", set())
    return ("group_policy", "none") not in _pairs(request) and any(
        plain & each for each in groups.values()
    )


def _only_negative_resourceless(request: Request) -> bool:
    """A group without resources that names no trait or aggregate to have."""

    def positive(values: Mapping[str, list[str]]) -> bool:
        wanted = [item for value in values.get("required", []) for item in value.split(",")]
        wanted += values.get("member_of", [])
        return any(not item.startswith("!") for item in wanted)

    groups = _groups(request)
    return any(
        suffix and "resources" not in each and (not positive(each) or "in_tree" in each)
        for suffix, each in groups.items()
    )


def _more_with_sharing(request: Request, ours: Answer, peer: Answer) -> bool:
    """Both respond, this service returns more, and each addition uses a sharing provider."""
    has_others = {"", *_groups(request)} > {""} or "root_required" in dict(_pairs(request))
    if _statuses(ours, peer) != (200, 200) or not has_others:
        return False
    unlimited = Request(request.method, request.path, request.minor)
    mine, theirs = (
        Counter(normal(unlimited, answer.body)["allocation_requests"]) for answer in (ours, peer)
    )
    more = mine - theirs
    if not more or theirs - mine:
        return False
    return all(_uses_sharing(json.loads(each), ours.body["provider_summaries"]) for each in more)


def _uses_sharing(candidate: Mapping[str, Any], summaries: Mapping[str, Any]) -> bool:
    held = candidate["allocations"]
    used = [each["resource_provider"]["uuid"] for each in held] if isinstance(held, list) else held
    return any(SHARING in summaries[uuid].get("traits", [SHARING]) for uuid in used)


def _has_nul(request: Request) -> bool:
    return "%00" in request.query or b"\\u0000" in (request.body or b"")


WARTS = (
    Wart(
        "W1", "401 has the envelope of other errors", ERROR_FORM,
        lambda request, ours, peer: _statuses(ours, peer) == (401, 401),
    ),
    Wart(
        "W2", "both version headers are on every answer", HEADERS,
        lambda request, ours, peer: peer.status >= 400 and "vary" not in peer.headers,
    ),
    Wart(
        "W5", "errors are JSON whatever Accept says", ERROR_FORM,
        lambda request, ours, peer: peer.status >= 400
        and "json" not in peer.headers.get("content-type", ""),
    ),
    Wart(
        "W7", "405 says what is allowed", {"allow"},
        lambda request, ours, peer: request.minor < 5 and request.path.endswith("/inventories"),
    ),
    Wart(
        "W8", "repeated limit and group_policy are all looked at", ANSWER,
        lambda request, ours, peer: any(
            sum(key == name for key, _ in _pairs(request)) > 1
            for name in ("limit", "group_policy")
        ) and ours.status == 400,
    ),
    Wart(
        "W9", "amounts beyond 64 bits fit nowhere", ANSWER,
        lambda request, ours, peer: peer.status == 500
        and re.search(r"\d{19}", request.query) is not None,
    ),
    Wart(
        "W11", "a line feed at the end of a name is 400", ANSWER,
        lambda request, ours, peer: ours.status == 400
        and (b"A\\n" in (request.body or b"") or request.path.endswith(("%0A", "\n"))),
    ),
    Wart(
        "W19", "a negative ratio is 400", ANSWER,
        lambda request, ours, peer: ours.status == 400 and "allocation_ratio" in ours.detail,
    ),
    Wart(
        "W21", "a key that is no class name is 400", ANSWER,
        lambda request, ours, peer: ours.status == 400
        and "is not the name of a resource class" in ours.detail,
    ),
    Wart(
        "W23", "Last-Modified is on every answer that may be cached", {"modified"},
        lambda request, ours, peer: "/inventories" in request.path
        or request.path.startswith("/resource_providers/"),
    ),
    Wart(
        "W29", "a consumer without allocations leaves no record", ANSWER,
        lambda request, ours, peer: peer.status == 409
        and "consumer generation conflict - expected 0" in peer.detail,
    ),
    Wart(
        "W35", "consumer_type is a type, all or unknown", ANSWER,
        lambda request, ours, peer: request.path == "/usages" and ours.status == 400
        and "consumer_type" in ours.detail,
    ),
    Wart(
        "W37", "amounts are the sums of the groups", {"body"},
        lambda request, ours, peer: _statuses(ours, peer) == (200, 200)
        and _same_class_twice(request),
    ),
    Wart(
        "W38", "sharing providers that are no roots serve", ANSWER,
        lambda request, ours, peer: peer.status == 500
        and request.path == "/allocation_candidates" and SHARING in ours.raw.decode(),
    ),
    Wart(
        "W39", "constraints of groups without resources apply", {"body"},
        lambda request, ours, peer: _statuses(ours, peer) == (200, 200)
        and _only_negative_resourceless(request),
    ),
    Wart(
        "W42", "unknown names are 400 wherever they stand", ANSWER,
        lambda request, ours, peer: _statuses(ours, peer) == (400, 200)
        and "No such" in ours.detail
        and not any((peer.body or {"": 1}).values()),
    ),
    Wart(
        "W44", "a reshape checks capacities", ANSWER,
        lambda request, ours, peer: request.path == "/reshaper" and ours.status == 400
        and "capacity" in ours.detail,
    ),
    Wart(
        "NUL", "what no database can store is 400", ANSWER,
        lambda request, ours, peer: ours.status == 400 and _has_nul(request),
    ),
    Wart(
        "PG", "usages by type of consumer are told on PostgreSQL too", ANSWER,
        lambda request, ours, peer: _statuses(ours, peer) == (200, 500)
        and ENGINE == "postgresql" and request.path == "/usages",
    ),
    Wart(
        "N1", "a DELETE of no inventory does not say whether the class exists", {"phrases"},
        lambda request, ours, peer: request.method == "DELETE" and "found for delete" in ours.detail
        and "found for delete: No such resource class" in peer.detail,
    ),
    Wart(
        "S1", "sharing providers that serve the unsuffixed group alone do so at each anchor",
        {"body"}, _more_with_sharing,
    ),
)  # fmt: skip


def leaves_orphan(request: Request, ours: Answer) -> bool:
    """Return whether the peer may have a consumer without allocations (W29)."""
    if request.method == "GET" or not request.path.startswith(("/allocations", "/reshaper")):
        return False
    emptied = ours.status == 204 and b'"allocations": {}' in (request.body or b"")
    return emptied or (ours.status == 400 and "No such resource provider" in ours.detail)


def explained(
    request: Request, ours: Answer, peer: Answer, aspects: Collection[str]
) -> tuple[set[str], set[str]]:
    """The rows that explain some of the aspects, and the aspects that no row explains."""
    left, rows = set(aspects), set()
    for wart in WARTS:
        if left & set(wart.touches) and wart.explains(request, ours, peer):
            left -= set(wart.touches)
            rows.add(wart.number)
    return rows, left
