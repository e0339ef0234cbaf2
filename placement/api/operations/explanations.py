"""Responses that explain why hosts cannot serve a request."""

from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import Any, NamedTuple

from placement.api import samples
from placement.api.bodies import path_of
from placement.api.members import UUID, UUID_KEY
from placement.api.shapes import Array, Fragment, Json, Object, Property, Table, ready
from placement.candidates.model import Refusal
from placement.candidates.request import StatedTerm, SubtreeRule
from placement.foresight.explanation import CODES, Explanation
from placement.foresight.explanation.value import UnservedHost


class Explained(NamedTuple):
    """An explanation and its request."""

    # The reasons for rejected hosts.
    explanation: Explanation
    # The request as JSON. Paths in the explanation refer to it.
    body: Mapping[str, Any]


def _integer(example: int) -> Fragment:
    return {"type": "integer", "examples": [example]}


CODE = Json.of("string", "capacity", enum=[str(code) for code in CODES])
GROUP: Fragment = {"type": ["string", "null"], "examples": ["_NIC"]}
DETAIL = Json.of("string", "64 VCPU asked, the most free is 48")
TEXT_OF_ALL = Json.of(
    "string",
    (
        "None of 1,000 hosts can serve the request. 990 have no provider with 64 VCPU free "
        "(the most is 48); 10 have no inventory of VCPU. With 48 VCPU, 12 hosts would serve."
    ),
)
MEANING = Json.of(
    "string",
    Refusal.CAPACITY.meaning,
    description="Meaning of the code; it applies to each host that the code rejects.",
)
_PATH: Fragment = {"type": "string", "examples": ["groups._NIC.required[0]"]}

_HOSTS: Object[Any] = Object(
    "ExplainedHosts",
    Property("all", Json.of("integer", 1000)),
    Property("looked", Json.of("integer", 1000)),
    Property("served", Json.of("integer", 0)),
    Property("complete", Json.of("boolean", True)),
)
_STEP: Object[Any] = Object(
    "ExplainedStep",
    Property("code", CODE),
    Property("meaning", MEANING, attrgetter("code.meaning")),
    Property("detail", DETAIL),
    Property("before", Json.of("integer", 1000)),
    Property("after", Json.of("integer", 10)),
)
_BLOCKED: Object[Any] = Object(
    "Blocked",
    Property("code", CODE),
    Property("meaning", MEANING, attrgetter("code.meaning")),
    Property("group", Json(GROUP)),
    Property("detail", DETAIL),
    Property("hosts", Json.of("integer", 990)),
    Property("examples", Array(UUID)),
)
_RELAXATION = Json(
    {
        "title": "Relaxation",
        "type": "object",
        "properties": {
            "drop": _PATH,
            "value": {
                "type": ["string", "array", "object"],
                "items": {"type": "string"},
                "examples": [samples.TRAIT],
            },
            "reduce": {"type": "string", "examples": ["groups._NUMA.resources.VCPU"]},
            "to": _integer(48),
            "hosts": _integer(12),
        },
        "required": ["hosts"],
        "additionalProperties": False,
        "examples": [{"drop": "groups._NIC.required[0]", "value": samples.TRAIT, "hosts": 12}],
    }
)
_STOCK = {"total": 64, "reserved": 0, "used": 16, "min_unit": 1, "max_unit": 64, "step_size": 1}
_PROVIDER = Json(
    {
        "title": "ExplainedProvider",
        "type": "object",
        "properties": {
            "host": UUID_KEY,
            "code": CODE.fragment,
            "group": {"type": "string", "examples": ["_NIC"]},
            "provider": UUID_KEY,
            "resource_class": {"type": "string", "examples": ["VCPU"]},
            "asked": _integer(64),
            "room": _integer(48),
            **{name: _integer(example) for name, example in _STOCK.items()},
            "allocation_ratio": {"type": "number", "examples": [1.0]},
        },
        "required": ["host", "code"],
        "additionalProperties": False,
    }
)


def _relaxations(explained: Explained) -> Sequence[Mapping[str, Any]]:
    relaxations = []
    for relaxed in explained.explanation.relaxations:
        paths = paths_of_term(relaxed.term, explained.body)
        if relaxed.to is not None:
            relaxations.append({"reduce": paths[0], "to": relaxed.to, "hosts": relaxed.hosts})
        elif len(paths) == 1:  # omitting one of several equal conditions does not help
            value = _value(relaxed.term)
            relaxations.append({"drop": paths[0], "value": value, "hosts": relaxed.hosts})
    return relaxations


def _value(term: StatedTerm) -> str | int | list[str] | Mapping[str, list[str]]:
    value = term.value
    if isinstance(value, SubtreeRule):
        return {"of": sorted(value.inside), "not": sorted(value.outside)}
    if isinstance(value, frozenset):
        return sorted(value) if len(value) > 1 else min(value)
    assert isinstance(value, str | int)
    return value


def paths_of_term(term: StatedTerm, body: Mapping[str, Any]) -> Sequence[str]:
    """Return the paths of a term in a request as JSON: several if the request repeats it.

    Equal rules about subtrees are one, as in a query.
    """
    steps: list[str | int] = [*term.keyword.split(".")]
    if term.suffix is not None:
        steps = ["groups", term.suffix, term.keyword]
    if term.resource_class:
        return [path_of([*steps, term.resource_class])]
    if term.code is Refusal.TAINTED:
        return [term.keyword]  # the request does not state it
    stated: Any = body
    for step in steps:
        stated = stated[step]
    if not isinstance(stated, list):
        return [path_of(steps)]
    paths = [path_of([*steps, place]) for place, each in enumerate(stated) if _is(each, term)]
    return paths[:1] if isinstance(term.value, SubtreeRule) else paths


def _is(stated: Any, term: StatedTerm) -> bool:
    """Return whether an item of a list is equal to the term."""
    if isinstance(stated, dict):
        rule = frozenset(stated.get("of", ())), frozenset(stated.get("not", ()))
        return SubtreeRule(*rule) == term.value
    if isinstance(term.value, str):
        return bool(stated == term.value)
    return frozenset([stated] if isinstance(stated, str) else stated) == term.value


def _providers(explained: Explained) -> Sequence[Mapping[str, Any]] | None:
    hosts = explained.explanation.providers
    return None if hosts is None else [_host(host) for host in hosts]


def _host(host: UnservedHost) -> Mapping[str, Any]:
    members: dict[str, Any] = {
        "host": host.host,
        "code": host.code,
        "group": host.group,
        "provider": host.provider,
        "resource_class": host.resource_class,
        "asked": host.asked,
        "room": host.room,
        **(host.stock or {}),
    }
    return {name: value for name, value in members.items() if value is not None}


EXPLANATION: Object[Explained] = Object(
    "Explanation",
    Property("hosts", _HOSTS, attrgetter("explanation.hosts")),
    Property(
        "groups",
        Table({"type": "string", "examples": ["_NIC"]}, Array(_STEP)),
        attrgetter("explanation.groups"),
    ),
    Property("together", Array(_STEP), attrgetter("explanation.together")),
    Property("blocked", Array(_BLOCKED), attrgetter("explanation.blocked")),
    Property("relaxations", ready(Array(_RELAXATION)), _relaxations),
    Property("text", TEXT_OF_ALL, attrgetter("explanation.text")),
    Property("providers", ready(Array(_PROVIDER)), _providers),
    optional=("providers",),
)
