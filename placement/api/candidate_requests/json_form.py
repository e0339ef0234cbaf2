"""Candidate requests as JSON. Query strings are converted to this form.

Errors contain the path of a member.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import orjson

from placement.api.bodies import path_of, size_of
from placement.api.candidate_requests.checks import check
from placement.api.candidate_requests.schema import CONFIGURED_ORDER, ORDER
from placement.api.candidate_requests.terms import terms_of
from placement.api.parameters import MAX_ITEMS, bad
from placement.candidates.request import (
    UNSUFFIXED,
    AggregateKey,
    CandidateRequest,
    ErrorPath,
    FreeKey,
    Order,
    OrderKey,
    RequestGroup,
    SubtreeRule,
    TraitKey,
)
from placement.candidates.terms import GROUP_TERMS, ROOT_TERMS
from placement.errors import QUERY_BAD_VALUE, BadBody, BadQuery, ConfigurationError
from placement.vocabulary import TOO_MUCH

Step = str | int

# Error for a request with both `isolate` and `group_policy`.
BOTH_POLICIES = (
    "group_policy applies to all groups, and isolate to the groups that it names: leave out one"
)

# Name of a part of a request in errors -> the paths of the body members that may contain such
# names.
_MEMBERS: dict[str, list[Sequence[Step]]] = {}
for _kind in GROUP_TERMS:
    _MEMBERS.setdefault(_kind.parameter, []).append((_kind.keyword,))
    _MEMBERS.setdefault(f"root_{_kind.parameter}", []).append(("root", _kind.keyword))


def read_alternatives(
    body: Mapping[str, Any], within: Sequence[Step] = ()
) -> tuple[CandidateRequest, ...]:
    """Read a body with one request, or with the requests of `first_available`.

    Each alternative gets the limit and the order of the whole request. Raises BadQuery.
    """
    if "first_available" not in body:
        return (read_candidates(body, within),)
    _check_size(body, path_of(within) or "body")
    limit, order = _limit(body), read_order(body, within)
    order_path = _error_path(body, within)

    def with_order_path(inner: ErrorPath) -> ErrorPath:
        def error_path(keyword: str, suffix: str, name: str) -> str:
            return (order_path if keyword == "order" else inner)(keyword, suffix, name)

        return error_path

    alternatives = []
    for position, stated in enumerate(body["first_available"]):
        request = read_candidates(stated, (*within, "first_available", position))
        alternatives.append(
            replace(
                request, limit=limit, order=order, error_path=with_order_path(request.error_path)
            )
        )
    return tuple(alternatives)


def read_candidates(body: Mapping[str, Any], within: Sequence[Step] = ()) -> CandidateRequest:
    """Parse a request that conforms to its schema.

    Args:
        body: the request.
        within: path of the request, if it is not the whole body.

    Raises:
        BadQuery: the request contradicts itself or is too large.
    """
    _check_size(body, path_of(within) or "body")
    order = read_order(body, within)
    request = replace(request_of(body, _error_path(body, within)), order=order)
    check(request, {suffix: path_of((*within, "groups", suffix)) for suffix in body["groups"]})
    return request


def request_of(body: Mapping[str, Any], error_path: ErrorPath) -> CandidateRequest:
    """Return a request without checks of its parts against each other, and without an order.

    Args:
        body: the request, of either form.
        error_path: returns the path of a name in the client's request.

    Raises:
        BadQuery: both `group_policy` and `isolate` are stated.
    """
    groups, policy, isolated = body["groups"], body.get("group_policy"), body.get("isolate")
    if policy is not None and isolated:
        where = error_path("isolate", "", "")
        raise bad(where, min(isolated), BOTH_POLICIES, QUERY_BAD_VALUE)
    suffixed = frozenset(groups) - {UNSUFFIXED}
    return CandidateRequest(
        tuple(_group(suffix, group) for suffix, group in groups.items()),
        isolate=suffixed if policy == "isolate" else frozenset(isolated or ()),
        subtree_rules=_rules(body.get("same_subtree", ())),
        root=terms_of(body.get("root", {}), ROOT_TERMS),
        limit=_limit(body),
        tolerate=frozenset(body.get("tolerate", ())),
        isolate_all=policy == "isolate",
        explain=body.get("explain"),
        error_path=error_path,
    )


# Criterion -> constructor of the key, the member that contains its name, and the two values of
# `first`. The constructor receives True for the first value.
_ORDER_KEYS: Mapping[str, tuple[Callable[[str, bool], OrderKey], str, tuple[str, str]]] = {
    "free": (FreeKey, "resource_class", ("most", "least")),
    "trait": (TraitKey, "name", ("with", "without")),
    "aggregate": (AggregateKey, "uuid", ("with", "without")),
}


def read_order(body: Mapping[str, Any], within: Sequence[Step] = ()) -> Order:
    """Return the order of a request.  Raises BadQuery with the path of the member."""
    keys: list[OrderKey] = []
    for position, stated in enumerate(body.get("order", ())):
        steps = (*within, "order", position)
        make, member, choices = _ORDER_KEYS[stated["by"]]
        expected = {"by", "first", member}
        for name in sorted(expected ^ stated.keys()):
            text = "expected" if name in expected else "not expected"
            raise BadQuery(
                f"{path_of((*steps, name))}: {text} where hosts are sorted by {stated['by']}"
            )
        if stated["first"] not in choices:
            expectation = f"expected {' or '.join(choices)}"
            raise bad(path_of((*steps, "first")), stated["first"], expectation)
        keys.append(make(stated[member], stated["first"] == choices[0]))
    return tuple(keys)


def read_configured_order(text: str) -> Order:
    """Return the order in the option `[placement] order`. Empty means no order.

    Raises:
        ConfigurationError: it is no order as in a request.
    """
    if not text.strip():
        return ()
    try:
        stated = orjson.loads(text)
        CONFIGURED_ORDER.check(stated)
        keys = read_order({"order": stated})
    except orjson.JSONDecodeError as error:
        sample = orjson.dumps(ORDER["examples"][0]).decode()
        raise ConfigurationError(
            f"[placement] order: expected JSON such as {sample}, but it is not valid: {error}"
        ) from None
    except (BadBody, BadQuery) as error:
        raise ConfigurationError(f"[placement] order: {error}") from None
    return tuple([replace(key, may_be_unknown=True) for key in keys])


def read_order_request(body: Mapping[str, Any]) -> CandidateRequest:
    """Return a request without groups, with the order that a body states.  Raises BadQuery."""
    return CandidateRequest((), order=read_order(body), error_path=_error_path(body, ()))


def _check_size(body: Mapping[str, Any], name: str) -> None:
    """Raise BadQuery if a request has more names than a query may have.

    Each name must be looked up.
    """
    names = size_of(body)
    if names > MAX_ITEMS:
        raise BadQuery(f"{name}: it has {names} members and names, at most {MAX_ITEMS} are allowed")


def _group(suffix: str, group: Mapping[str, Any]) -> RequestGroup:
    resources = group.get("resources", {}).items()
    return RequestGroup(
        suffix,
        tuple((name, min(int(amount), TOO_MUCH)) for name, amount in resources),
        terms_of(group, GROUP_TERMS),
        frozenset(group.get("can_split", ())),
    )


def _rules(rules: Sequence[Mapping[str, Sequence[str]]]) -> tuple[SubtreeRule, ...]:
    """Return the distinct rules without empty rules."""
    different: dict[SubtreeRule, None] = {}
    for rule in rules:
        within, outside = frozenset(rule.get("of", ())), frozenset(rule.get("not", ()))
        if within or outside:
            different[SubtreeRule(within, outside)] = None
    return tuple(different)


def _limit(body: Mapping[str, Any]) -> int | None:
    return int(body["limit"]) if "limit" in body else None


def _error_path(body: Mapping[str, Any], within: Sequence[Step]) -> ErrorPath:
    """Return a function that finds the path of a name, or else the path of its member."""

    def error_path(keyword: str, suffix: str, name: str) -> str:
        members = _MEMBERS.get(keyword, ((keyword,),))
        if keyword not in body and not keyword.startswith("root_"):
            members = [("groups", suffix, *member) for member in members]
        for member in members:
            for steps in _names(_at(body, member), member):
                if name == steps[-1] or name == _at(body, steps):
                    return path_of((*within, *steps))
        return path_of((*within, *members[0]))

    return error_path


def _at(body: Any, steps: Sequence[Step]) -> Any:
    value = body
    for step in steps:
        if isinstance(value, dict):
            value = value.get(step, {})
        elif isinstance(value, list) and isinstance(step, int):
            value = value[step]
    return value if isinstance(value, (dict, list, str)) else None


def _names(value: Any, steps: Sequence[Step] = ()) -> Iterator[tuple[Step, ...]]:
    """Yield the path of every item in a value."""
    items: Any = ()
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, list):
        items = enumerate(value)
    for step, member in items:
        yield (*steps, step)
        yield from _names(member, (*steps, step))
