"""Keys of flavors for members of the request. The value of such a key is JSON."""

import json
from collections.abc import Callable, Mapping
from typing import Any, cast

from falcon_placement_client.errors import RequestError
from falcon_placement_client.json_request import AnyRequest, JsonRequest
from falcon_placement_client.terms import NAME, is_uuid

MAX_ORDER_KEYS = 8
FIRST_AVAILABLE = "placement:first_available"

# Criterion -> the member that contains its name, and the values of `first`.
_ORDER_KEYS = {
    "free": ("resource_class", ("most", "least")),
    "trait": ("name", ("with", "without")),
    "aggregate": ("uuid", ("with", "without")),
}


def read_json(key: str, text: str) -> Any:
    """Return the JSON value of a key.  Raises RequestError if the text is not JSON."""
    try:
        return json.loads(text)
    except ValueError as error:
        raise RequestError(key, f"expected JSON: {error}") from None


def _read_order(key: str, text: str, request: JsonRequest) -> None:
    """Add the order in a JSON text to a request.  Raises RequestError."""
    order = read_json(key, text)
    if not isinstance(order, list) or len(order) > MAX_ORDER_KEYS:
        raise RequestError(key, f"expected a list of at most {MAX_ORDER_KEYS} objects")
    for position, stated in enumerate(order):
        _check_order_key(f"{key}[{position}]", stated)
    request["order"] = order


def _check_order_key(path: str, stated: Any) -> None:
    by = stated.get("by") if isinstance(stated, Mapping) else None
    if not isinstance(by, str) or by not in _ORDER_KEYS:
        raise RequestError(path, f'expected an object with "by": {" or ".join(_ORDER_KEYS)}')
    member, choices = _ORDER_KEYS[by]
    if stated.keys() != {"by", "first", member}:
        raise RequestError(path, f"expected the members by, first and {member}")
    if stated["first"] not in choices:
        raise RequestError(f"{path}.first", f"expected {' or '.join(choices)}")
    name = stated[member]
    if not isinstance(name, str) or not (is_uuid(name) if by == "aggregate" else NAME.match(name)):
        raise RequestError(f"{path}.{member}", f"{name!r} is no {member.replace('_', ' ')}")


# Key of a flavor -> function that adds the value of the key to a request.
READERS: Mapping[str, Callable[[str, str, JsonRequest], None]] = {"placement:order": _read_order}
_MEMBERS = {key.partition(":")[2]: key for key in (*READERS, FIRST_AVAILABLE)}


def read(flavor: Mapping[str, str | int], request: JsonRequest) -> None:
    """Add the preferences in a flavor to a request. Raises RequestError."""
    for key in flavor.keys() & READERS.keys():
        READERS[key](key, str(flavor[key]), request)


def written(request: AnyRequest) -> dict[str, str]:
    """Return the keys of a flavor for the preferences in a request."""
    members: Mapping[str, Any] = request
    return {
        key: json.dumps(members[member]) for member, key in _MEMBERS.items() if members.get(member)
    }


def without(request: AnyRequest) -> JsonRequest:
    """Return a request without its preferences."""
    rest = {member: value for member, value in request.items() if member not in _MEMBERS}
    return cast("JsonRequest", rest)
