"""Claim records: the holds, spread groups and remembered requests of consumers.

A record names the row of its consumer by id, uuid and time of creation. If another row has the uuid
now, the record has no meaning. No foreign key connects the two tables, because other software,
which does not know this one, deletes consumers too.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

Request = Mapping[str, Any]  # a candidate request as JSON


class SpreadGroup(NamedTuple):
    """A group of consumers of one project that are spread over hosts."""

    name: str
    # Maximum number of members on the host of a member when it is claimed.
    max_per_host: int


def spread_group(name: str | None, max_per_host: int | None) -> SpreadGroup | None:
    """Return the spread group of a row, or None."""
    if name is None or max_per_host is None:
        return None
    return SpreadGroup(name, max_per_host)


def request_text(request: Request) -> str:
    """Return a request as it is stored."""
    return json.dumps(request, separators=(",", ":"))


def remembered_request(text: str | None, amounts: Mapping[str, int]) -> Request | None:
    """Return a stored request if its amounts are those that the consumer has allocated.

    Another request does not describe the consumer any more, so None is returned.

    Args:
        text: the stored request; None if there is none.
        amounts: class -> sum of the consumer's allocations.
    """
    if text is None:
        return None
    request: Request = json.loads(text)
    groups = request["groups"].values()
    requested = sum_by_class(group.get("resources", {}) for group in groups)
    return request if requested == amounts else None


def sum_by_class(parts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    """Return class -> sum of the amounts of all parts."""
    sums: dict[str, int] = {}
    for amounts in parts:
        for name, amount in amounts.items():
            sums[name] = sums.get(name, 0) + int(amount)
    return sums
