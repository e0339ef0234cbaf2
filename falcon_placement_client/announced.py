"""The announced differences of reads between this service and openstack-placement.

They are faults of openstack-placement that this service does not repeat.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple
from urllib.parse import parse_qsl

from falcon_placement_client.responses import (
    CANDIDATES,
    Differences,
    Request,
    ServerResponse,
    candidates,
)
from falcon_placement_client.vocabulary import SHARING_TRAIT

PAGE = "docs/reference/compatibility.rst"

HEADERS = frozenset({"vary", "version"})
ERROR_FORM = frozenset({"type", "code", "title", "members", "phrases", "versions"})
# Everything that can differ if one of the responses is an error.
WHOLE = ERROR_FORM | {"status", "body", "cache", "modified", "vary", "location"}

_GROUP_PARAMETERS = ("resources", "required", "member_of", "in_tree")


class Exchange(NamedTuple):
    """A request with the response of this service and the one of openstack-placement."""

    # Requests of tests also have a body.
    request: Any
    ours: ServerResponse
    peer: ServerResponse

    @property
    def statuses(self) -> tuple[int, int]:
        """The statuses of the two responses."""
        return self.ours.status, self.peer.status


@dataclass(frozen=True)
class Announced:
    """A row: the aspects of a response that it affects, and when."""

    name: str
    reason: str
    touches: Collection[str]
    explains: Callable[[Exchange], bool]
    # The heading of PAGE below which it is announced. Most are below this one.
    section: str = "Responses"


def _pairs(request: Request) -> list[tuple[str, str]]:
    return parse_qsl(request.query, keep_blank_values=True)


def _groups(request: Request) -> dict[str, dict[str, list[str]]]:
    """Return suffix -> parameter -> values of a query for candidates."""
    found: dict[str, dict[str, list[str]]] = {}
    for key, value in _pairs(request):
        for parameter in _GROUP_PARAMETERS:
            if key.startswith(parameter):
                suffix = key.removeprefix(parameter)
                found.setdefault(suffix, {}).setdefault(parameter, []).append(value)
    return found


def _is_repeated(request: Request) -> bool:
    """Return whether a parameter is repeated of which openstack-placement reads only the last."""
    names = [key for key, _ in _pairs(request)]
    return any(names.count(each) > 1 for each in ("limit", "group_policy"))


def _same_class_twice(request: Request) -> bool:
    """Return whether the unsuffixed and another group, which may share providers, ask for one."""
    classes = {
        suffix: {item.partition(":")[0] for value in values for item in value.split(",")}
        for suffix, group in _groups(request).items()
        for values in [group.get("resources", [])]
    }
    plain = classes.pop("", set())
    isolates = ("group_policy", "none") in _pairs(request)
    return not isolates and any(plain & each for each in classes.values())


def _only_negative_resourceless(request: Request) -> bool:
    """Return whether a group without resources names no trait or aggregate to have."""

    def is_positive(values: Mapping[str, list[str]]) -> bool:
        terms = [item for value in values.get("required", []) for item in value.split(",")]
        terms += values.get("member_of", [])
        return any(not item.startswith("!") for item in terms)

    return any(
        suffix and "resources" not in each and (not is_positive(each) or "in_tree" in each)
        for suffix, each in _groups(request).items()
    )


def _more_with_sharing(pair: Exchange) -> bool:
    """Return whether this service returns more, each time with a sharing provider.

    With a limit, only the numbers of candidates can be compared.
    """
    request, ours, peer = pair
    has_others = {"", *_groups(request)} > {""} or "root_required" in dict(_pairs(request))
    if pair.statuses != (200, 200) or not has_others:
        return False
    mine, theirs = (Counter(candidates(each.body)) for each in (ours, peer))
    more = mine - theirs
    sharing = [_uses_sharing(json.loads(each), ours.body["provider_summaries"]) for each in more]
    if request.is_limited:
        return mine.total() > theirs.total() and any(sharing)
    return bool(more) and not theirs - mine and all(sharing)


def _uses_sharing(candidate: Mapping[str, Any], summaries: Mapping[str, Any]) -> bool:
    held = candidate["allocations"]
    used = [each["resource_provider"]["uuid"] for each in held] if isinstance(held, list) else held
    return any(SHARING_TRAIT in summaries[uuid].get("traits", [SHARING_TRAIT]) for uuid in used)


READS = (
    Announced(
        "unauthorized", "401 has the form of other errors", ERROR_FORM,
        lambda pair: pair.statuses == (401, 401),
        "Errors",
    ),
    Announced(
        "error-headers", "both version headers are in every response", HEADERS,
        lambda pair: pair.peer.status >= 400 and "vary" not in pair.peer.headers,
        "Errors",
    ),
    Announced(
        "error-json", "errors are JSON for any Accept", ERROR_FORM,
        lambda pair: pair.peer.status >= 400
        and "json" not in pair.peer.headers.get("content-type", ""),
        "Errors",
    ),
    Announced(
        "repeated", "repeated limit and group_policy are all checked", WHOLE,
        lambda pair: pair.ours.status == 400 and _is_repeated(pair.request),
    ),
    Announced(
        "large-amounts", "amounts beyond 64 bits fit nowhere", WHOLE,
        lambda pair: pair.peer.status == 500
        and re.search(r"\d{19}", pair.request.query) is not None,
    ),
    Announced(
        "line-feed", "a line feed at the end of a name is 400", WHOLE,
        lambda pair: pair.ours.status == 400 and pair.request.path.endswith(("%0A", "\n")),
    ),
    Announced(
        "last-modified", "every response with Cache-Control has Last-Modified",
        {"modified"},
        lambda pair: "/inventories" in pair.request.path
        or pair.request.path.startswith("/resource_providers/"),
        "Errors",
    ),
    Announced(
        "consumer-type", "consumer_type is a type, all or unknown", WHOLE,
        lambda pair: pair.request.path == "/usages" and pair.ours.status == 400
        and "consumer_type" in pair.ours.detail,
    ),
    Announced(
        "sums", "amounts are the sums of the groups", {"body"},
        lambda pair: pair.statuses == (200, 200)
        and _same_class_twice(pair.request),
    ),
    Announced(
        "sharing-children", "sharing providers that are no roots serve", WHOLE,
        lambda pair: pair.peer.status == 500
        and pair.request.path == CANDIDATES and SHARING_TRAIT in pair.ours.raw.decode(),
    ),
    Announced(
        "without-resources", "constraints of groups without resources apply", {"body"},
        lambda pair: pair.statuses == (200, 200)
        and _only_negative_resourceless(pair.request),
    ),
    Announced(
        "unknown-names", "unknown names are 400 in any parameter", WHOLE,
        lambda pair: pair.statuses == (400, 200)
        and "No such" in pair.ours.detail
        and not any((pair.peer.body or {"": 1}).values()),
    ),
    Announced(
        "nul", "what no database can store is 400", WHOLE,
        lambda pair: pair.ours.status == 400 and "%00" in pair.request.query,
    ),
    Announced(
        "usages-by-type", "usages by type of consumer are available on PostgreSQL", WHOLE,
        lambda pair: pair.statuses == (200, 500)
        and pair.request.path == "/usages",
    ),
    Announced(
        "sharing", "sharing providers that serve the unsuffixed group alone do so in each tree",
        {"body"}, _more_with_sharing,
    ),
)  # fmt: skip


def explained(
    rows: Iterable[Announced], pair: Exchange, found: Differences
) -> tuple[list[Announced], Differences]:
    """Return the rows that explain some of the differences, and the remaining differences.

    No row explains a difference by a malformed body.
    """
    left, used = dict(found), []
    for row in rows:
        if left.keys() & row.touches and _explains(row, pair):
            left = {aspect: each for aspect, each in left.items() if aspect not in row.touches}
            used.append(row)
    return used, left


def _explains(row: Announced, pair: Exchange) -> bool:
    try:
        return row.explains(pair)
    except (LookupError, TypeError, AttributeError, ValueError):  # members of the bodies
        return False
