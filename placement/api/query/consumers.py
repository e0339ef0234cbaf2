"""The parameters of `GET /consumers`."""

import re
from collections.abc import Collection, Mapping
from typing import NamedTuple

from placement.api.microversion import Microversion
from placement.api.parameters import (
    DASHED_UUID,
    PROVIDER_UUID,
    Pairs,
    Parameter,
    bad,
    include_parameter,
    last_values,
    matching,
    parse_include,
    positive,
)
from placement.errors import BadQuery
from placement.objects import identifiers
from placement.objects.consumer_list import ConsumerFilter, ConsumerPage, ConsumerPart

MAX_CONSUMERS = 1_000  # in one response
MAX_OWNER = 255  # characters of a project or user

_TYPE = "([A-Z0-9_]+|unknown)"
_CONSUMER_TYPE = re.compile(rf"{_TYPE}\Z", re.ASCII)
_OWNER = matching(f".{{1,{MAX_OWNER}}}")
_INCLUDE = include_parameter("consumer", ConsumerPart)
SHOW_PARAMETERS: Mapping[str, Parameter] = {"include": _INCLUDE}
PARAMETERS: Mapping[str, Parameter] = {
    "project_id": Parameter("2.0", "A project; only its consumers are listed.", _OWNER),
    "user_id": Parameter("2.0", "A user of the project; only its consumers are listed.", _OWNER),
    "consumer_type": Parameter(
        "2.0", "A type of consumers, or `unknown` for consumers without a type.", matching(_TYPE)
    ),
    "in_tree": Parameter(
        "2.0",
        "UUID of a provider; only consumers that use its tree are listed.",
        matching(DASHED_UUID),
    ),
    "spread_group": Parameter(
        "2.0", "The name of a spread group of the project; only its members are listed."
    ),
    "held": Parameter("2.0", "`true` lists only holds.", matching("true")),
    "limit": Parameter(
        "2.0",
        "Maximum number of consumers, in the order of their UUIDs; "
        f"{MAX_CONSUMERS:,} is the default. `consumers_links` has a link to the next page.",
        {"type": "integer", "minimum": 1, "maximum": MAX_CONSUMERS},
    ),
    "marker": Parameter(
        "2.0",
        "A UUID; only consumers after it are listed, in the order of their UUIDs.",
        matching("[{}A-Za-z0-9:-]+"),
    ),
    "include": _INCLUDE,
}


class ConsumerQuery(NamedTuple):
    """The requested part of the list of consumers."""

    # Conditions on the listed consumers.
    conditions: ConsumerFilter
    # Position and length of the page.
    page: ConsumerPage
    # Parts to include with each consumer.
    parts: Collection[ConsumerPart]


def parse_consumer_query(query: Pairs, version: Microversion) -> ConsumerQuery:
    """Parse the parameters.  Raises BadQuery."""
    values = last_values(query, PARAMETERS, version)
    for key in ("project_id", "user_id"):
        if key in values and not 1 <= len(values[key]) <= MAX_OWNER:
            raise bad(key, values[key], f"expected 1 to {MAX_OWNER} characters")
    for key in ("user_id", "spread_group"):
        if key in values and "project_id" not in values:
            raise BadQuery(f"{key}: this parameter needs project_id")
    consumer_type = values.get("consumer_type")
    if consumer_type is not None and not _CONSUMER_TYPE.match(consumer_type):
        raise bad("consumer_type", consumer_type, "expected a type, or unknown")
    if values.get("held", "true") != "true":
        raise bad("held", values["held"], "expected true")
    conditions = ConsumerFilter(
        values.get("project_id"),
        values.get("user_id"),
        consumer_type,
        _uuid("in_tree", values, PROVIDER_UUID),
        values.get("spread_group"),
        held="held" in values,
    )
    _uuid("marker", values, "expected the UUID of a consumer")
    # The value is not converted to canonical form, because links contain the form in which an
    # adopted database stores it.
    page = ConsumerPage(_limit(values), values.get("marker"))
    return ConsumerQuery(conditions, page, parse_include(query, ConsumerPart))


def parse_consumer_parts(query: Pairs, version: Microversion) -> tuple[ConsumerPart, ...]:
    """Return the parts to include with one consumer.  Raises BadQuery."""
    last_values(query, SHOW_PARAMETERS, version)
    return parse_include(query, ConsumerPart)


def _uuid(key: str, values: Mapping[str, str], expected: str) -> str | None:
    """Return the canonical form of a UUID, or None if the parameter is absent. Raises BadQuery."""
    if key not in values:
        return None
    uuid = identifiers.canonical(values[key])
    if uuid is None:
        raise bad(key, values[key], expected)
    return uuid


def _limit(values: Mapping[str, str]) -> int:
    if "limit" not in values:
        return MAX_CONSUMERS
    limit = positive("limit", values["limit"])
    if limit > MAX_CONSUMERS:
        raise bad("limit", values["limit"], f"expected an integer of at most {MAX_CONSUMERS}")
    return limit
