"""The filters of `GET /resource_providers`."""

import re
from collections.abc import Mapping

from placement.api.microversion import Microversion
from placement.api.query.strings import Pairs, Parameter, bad, last_values, matching
from placement.api.query.terms import Membership, Traits, effective, resources
from placement.errors import BadQuery
from placement.objects.provider_list import ProviderFilter

# Each is evaluated for each provider: fifty take PostgreSQL 0.4 s on 1,000 hosts.
MAX_CONDITIONS = 50

DASHED_UUID = "[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}"
_DASHED_UUID = re.compile(rf"{DASHED_UUID}\Z")

PARAMETERS: Mapping[str, Parameter] = {
    "name": Parameter("1.0", "The name of a provider."),
    "uuid": Parameter("1.0", "The UUID of a provider.", matching(DASHED_UUID)),
    "member_of": Parameter(
        "1.3",
        "Aggregates that providers must be in (`UUID`), must be in one of (`in:UUID,UUID`), or "
        "must not be in (`!UUID`).",
    ),
    "resources": Parameter(
        "1.4", "Amounts that a provider must have left: `CLASS:AMOUNT`, separated by commas."
    ),
    "in_tree": Parameter(
        "1.14",
        "The UUID of a provider: only providers of its tree are listed.",
        matching(DASHED_UUID),
    ),
    "subtree": Parameter(
        "2.0",
        "The UUID of a provider: only this one and those below it are listed.",
        matching(DASHED_UUID),
    ),
    "required": Parameter(
        "1.18",
        "Traits that providers must have (`T1,T2`), must not have (`!T`), or must have one of "
        "(`in:T1,T2`).",
    ),
}


def parse_provider_filter(query: Pairs, version: Microversion) -> ProviderFilter:
    """Read the filters.  Raises BadQuery."""
    values = last_values(query, PARAMETERS, version)
    for key in ("uuid", "in_tree", "subtree"):
        if key in values and not _DASHED_UUID.match(values[key]):
            raise bad(key, values[key], "expected a UUID with dashes")
    traits, membership = Traits(version), Membership(version)
    for key, value in effective(query, version):
        if key == "required":
            traits.add(key, value)
        elif key == "member_of":
            membership.add(key, value)
    amounts = resources("resources", values["resources"]) if "resources" in values else ()
    _check_number(traits, membership, len(amounts))
    return ProviderFilter(
        name=values.get("name") or None,
        uuid=values.get("uuid"),
        in_tree=values.get("in_tree"),
        subtree=values.get("subtree"),
        required=tuple(traits.required),
        forbidden=frozenset(traits.forbidden),
        member_of=tuple(membership.positive),
        not_member_of=frozenset(membership.negative),
        resources=amounts,
    )


def _check_number(traits: Traits, membership: Membership, class_count: int) -> None:
    # Single traits are looked up all at once; a choice of several is a condition of its own.
    choices = sum(len(term) > 1 for term in traits.required)
    conditions = choices + len(membership.positive) + class_count
    if conditions > MAX_CONDITIONS:
        raise BadQuery(
            f"required=in:, member_of, resources: {conditions} conditions (sets of traits, sets of "
            f"aggregates, classes) are too many together, {MAX_CONDITIONS} the most"
        )
