"""Conversion of candidate requests between query strings and JSON.

The JSON form is the body of `POST /allocation_candidates`. A query string works with servers of any
version, if the version can express the request.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast
from urllib.parse import parse_qsl, urlencode

from falcon_placement_client.errors import RequestError, path_of
from falcon_placement_client.json_request import AnyRequest, JsonRequest
from falcon_placement_client.suggestions import did_you_mean, nearest
from falcon_placement_client.terms import GROUP_FORMS, REQUEST_FORMS, ROOT_FORMS, Form, Members

# A request that has not been validated yet.
_Request = Mapping[str, Any]
Pairs = Sequence[tuple[str, str]]
Version = tuple[int, int]

FULL_LANGUAGE: Version = (2, 0)
ANY_TRAITS: Version = (1, 39)
ONCE = ("limit", "group_policy", "explain", "resources", "in_tree", "subtree")

GROUP_KEY = re.compile(
    rf"(?P<keyword>{'|'.join(GROUP_FORMS)})(?P<suffix>[A-Za-z0-9_-]{{0,64}})\Z", re.ASCII
)
# Members that have only a JSON form.
BODY_MEMBERS = ("order", "first_available")
_NEW_REQUEST_MEMBERS = ("explain", "tolerate")
_NEW_GROUP_MEMBERS = ("subtree", "can_split")


def parse_query(query: str) -> JsonRequest:
    """Return the JSON form of a query string. A path before it, as in logs, is ignored.

    Semicolons separate parameters, as in the service. Raises RequestError with the name of the
    parameter.
    """
    text = query.rpartition("?")[2].replace(";", "&")
    return request_of(parse_qsl(text, keep_blank_values=True))


def query_of(request: AnyRequest, version: Version = FULL_LANGUAGE) -> str:
    """Return the query string of a request at a microversion.

    Raises:
        RequestError: the version, or any query, cannot express the request.
    """
    return urlencode(pairs_of(request, version), safe=":,!")


def request_of(pairs: Pairs) -> JsonRequest:
    """Return the JSON form of parameters. Raises RequestError with the name of the parameter."""
    request: Members = {"groups": {}}
    keys: set[str] = set()
    for key, value in pairs:
        form, members = _place(key, request)
        if key in keys and key.startswith(ONCE):
            raise RequestError(key, "this parameter may be given only once")
        keys.add(key)
        form.read(key, value, members)
    return cast("JsonRequest", request)


def pairs_of(request: AnyRequest, version: Version = FULL_LANGUAGE) -> list[tuple[str, str]]:
    """Return the parameters of a request at a version. Raises the same errors as `query_of`."""
    stated: _Request = request
    for member in BODY_MEMBERS:
        if stated.get(member):
            raise RequestError(member, "a query cannot say this, a body of placement 2.0 can")
    _check_form(stated)
    if version < FULL_LANGUAGE:
        stated = _for_v1(stated, version)
    pairs = []
    for suffix, group in stated["groups"].items():
        parameters = list(_parameters(GROUP_FORMS, group, suffix))
        if not parameters:
            raise RequestError(
                path_of("groups", suffix), "a query cannot state a group without conditions"
            )
        pairs += parameters
    pairs += _parameters(ROOT_FORMS, stated.get("root") or {})
    pairs += _parameters(REQUEST_FORMS, stated)
    return pairs


def _check_form(request: _Request) -> None:
    """Raise RequestError, with the name of the member, if a member is not an object but must be."""
    groups = request.get("groups")
    if not isinstance(groups, Mapping):
        raise RequestError("groups", "expected an object, the groups by their suffixes")
    for suffix, group in groups.items():
        if not isinstance(group, Mapping):
            raise RequestError(path_of("groups", suffix), "expected an object, the group")
        if not isinstance(group.get("resources", {}), Mapping):
            path = path_of("groups", suffix, "resources")
            raise RequestError(path, "expected an object, amounts by resource class")


def _place(key: str, request: Members) -> tuple[Form, Members]:
    """Return the form of a parameter, and the object that contains its value."""
    if key in REQUEST_FORMS:
        return REQUEST_FORMS[key], request
    if key in ROOT_FORMS:
        return ROOT_FORMS[key], request.setdefault("root", {})
    match = GROUP_KEY.match(key)
    if match is None:
        keywords = sorted([*GROUP_FORMS, *ROOT_FORMS, *REQUEST_FORMS])
        hint = did_you_mean(nearest(key, keywords)) or f"; there are {', '.join(keywords)}"
        raise RequestError(key, f"no such parameter{hint}")
    if match["keyword"] == "can_split" and match["suffix"]:
        raise RequestError(key, "only the group without suffix can be split")
    return GROUP_FORMS[match["keyword"]], request["groups"].setdefault(match["suffix"], {})


def _parameters(
    forms: Mapping[str, Form], members: Mapping[str, Any], suffix: str = ""
) -> Iterator[tuple[str, str]]:
    for keyword, form in forms.items():
        for value in form.write(members):
            yield keyword + suffix, value


def _for_v1(request: _Request, version: Version) -> _Request:
    """Return an equivalent request for a 1.x version. Raises RequestError if there is none."""
    path = next(_members_beyond(request, version), None)
    if path is not None:
        raise _not_expressible(path, version)
    suffixed = {suffix for suffix in request["groups"] if suffix}
    isolated = set(request.get("isolate") or ())
    if isolated and isolated != suffixed:
        raise _not_expressible("isolate", version)
    members = {name: value for name, value in request.items() if name != "isolate"}
    # 1.x requires a policy, and cannot isolate single groups.
    if isolated or len(suffixed) > 1:
        members["group_policy"] = "isolate" if isolated else request.get("group_policy", "none")
    return members


def _members_beyond(request: _Request, version: Version) -> Iterator[str]:
    """Yield the paths of the members that a 1.x version cannot express."""
    yield from _root_members_beyond(request.get("root") or {})
    if any(rule.get("not") for rule in request.get("same_subtree") or ()):
        yield "same_subtree"
    for member in _NEW_REQUEST_MEMBERS:
        if request.get(member):
            yield member
    for suffix, group in request["groups"].items():
        for member in _NEW_GROUP_MEMBERS:
            if group.get(member):
                yield path_of("groups", suffix, member)
        if version < ANY_TRAITS and _has_choice(group):
            yield path_of("groups", suffix, "required")


def _root_members_beyond(root: Mapping[str, Any]) -> Iterator[str]:
    for member in ("member_of", "not_member_of"):
        if root.get(member):
            yield f"root.{member}"
    if _has_choice(root):
        yield "root.required"


def _has_choice(terms: Mapping[str, Any]) -> bool:
    """Return whether one of several traits is required."""
    required = terms.get("required") or ()
    return any(not isinstance(term, str) and len(term) > 1 for term in required)


def _not_expressible(path: str, version: Version) -> RequestError:
    stated = ".".join(map(str, version))
    return RequestError(path, f"placement {stated} cannot express this, placement 2.0 can")
