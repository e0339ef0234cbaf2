"""Flavors with alternative requests. The first alternative that has a candidate is used."""

from collections.abc import Mapping
from typing import cast

from falcon_placement_client import preferences
from falcon_placement_client.errors import RequestError
from falcon_placement_client.flavors import Flavor, ignored_keys, request_of_flavor
from falcon_placement_client.json_request import AnyRequest, JsonFirstAvailable, JsonRequest

MAX_ALTERNATIVES = 8
_ALTERNATIVE_MEMBERS = JsonRequest.__annotations__.keys() - {"limit", "order", "explain"}


def body_of_flavor(flavor: Flavor) -> AnyRequest:
    """Return the request of a flavor, or its alternatives, as JSON.

    A flavor with alternatives can also contain `placement:order` and amounts without a suffix. The
    amounts are added to each alternative that does not contain the class.

    Raises:
        RequestError: see `request_of_flavor`; also if other keys are combined with alternatives.
    """
    key = preferences.FIRST_AVAILABLE
    if key not in flavor:
        return request_of_flavor(flavor)
    alternatives = _read_alternatives(str(flavor[key]))
    rest = {name: value for name, value in flavor.items() if name != key}
    request: JsonRequest = {"groups": {"": {}}}
    if rest.keys() - preferences.READERS.keys() - set(ignored_keys(rest)):
        request = request_of_flavor(rest)
    else:
        preferences.read(rest, request)
    group = request["groups"].get("", {})
    if (
        request.keys() - {"groups", "order"}
        or group.keys() - {"resources"}
        or (request["groups"].keys() - {""})
    ):
        raise RequestError(key, "expected alone, or with amounts without a suffix and an order")
    amounts = group.get("resources", {})
    body: JsonFirstAvailable = {
        "first_available": [_with_amounts(each, amounts) for each in alternatives]
    }
    if "order" in request:
        body["order"] = request["order"]
    return body


def _read_alternatives(text: str) -> list[JsonRequest]:
    """Return the alternative requests of a JSON text.

    Raises:
        RequestError: the text is malformed; the error names the key and the position.
    """
    key = preferences.FIRST_AVAILABLE
    alternatives = preferences.read_json(key, text)
    if not isinstance(alternatives, list) or not 1 <= len(alternatives) <= MAX_ALTERNATIVES:
        raise RequestError(key, f"expected a list of 1 to {MAX_ALTERNATIVES} requests")
    for position, stated in enumerate(alternatives):
        path = f"{key}[{position}]"
        if not isinstance(stated, Mapping):
            raise RequestError(path, "expected an object, the request as JSON")
        for member in sorted(stated.keys() - _ALTERNATIVE_MEMBERS):
            raise RequestError(f"{path}.{member}", "an alternative has no such member")
        groups = stated.get("groups")
        if not isinstance(groups, Mapping) or not all(
            isinstance(group, Mapping) for group in groups.values()
        ):
            raise RequestError(f"{path}.groups", "expected an object, the groups by their suffixes")
    return alternatives


def _with_amounts(alternative: JsonRequest, amounts: Mapping[str, int]) -> JsonRequest:
    """Return an alternative, with the amounts of the classes that it does not contain."""
    if not amounts:
        return alternative
    group = alternative["groups"].get("", {})
    resources = {**amounts, **group.get("resources", {})}
    groups = {**alternative["groups"], "": {**group, "resources": resources}}
    return cast("JsonRequest", {**alternative, "groups": groups})
