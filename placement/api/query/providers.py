"""The filters of `GET /resource_providers` (contract resources.md section 1.6)."""

import re
from collections.abc import Mapping

from placement.api.microversion import Microversion
from placement.api.query.strings import Pairs, Parameter, bad, last_values
from placement.api.query.terms import Membership, Traits, counting, resources
from placement.errors import BadQuery
from placement.objects.provider_list import ProviderFilter

# Each is looked up for each provider: fifty take PostgreSQL 0.4 s on 1,000 hosts.
MAX_CONDITIONS = 50

DASHED_UUID = "[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}"
_DASHED_UUID = re.compile(rf"{DASHED_UUID}\Z")

PARAMETERS: Mapping[str, Parameter] = {
    "name": Parameter("1.0", "The provider of this name."),
    "uuid": Parameter("1.0", "The provider of this UUID.", f"^{DASHED_UUID}$"),
    "member_of": Parameter("1.3", "In an aggregate: UUID or in:UUID,UUID; ! for not in it."),
    "resources": Parameter("1.4", "With room for every amount: CLASS:AMOUNT,…"),
    "in_tree": Parameter("1.14", "In the tree of this provider.", f"^{DASHED_UUID}$"),
    "required": Parameter("1.18", "With traits: T1,T2, !T for without, in:T1,T2 for any."),
}


def parse_provider_filter(given: Pairs, version: Microversion) -> ProviderFilter:
    """Read the filters.  Raises BadQuery."""
    values = last_values(given, PARAMETERS, version)
    for key in ("uuid", "in_tree"):
        if key in values and not _DASHED_UUID.match(values[key]):
            raise bad(key, values[key], "expected a UUID with dashes")
    traits, membership = Traits(version), Membership(version)
    for key, value in counting(given, version):
        if key == "required":
            traits.add(key, value)
        elif key == "member_of":
            membership.add(key, value)
    amounts = resources("resources", values["resources"]) if "resources" in values else ()
    several = sum(len(term) > 1 for term in traits.required)
    conditions = several + len(membership.positive) + len(amounts)
    if conditions > MAX_CONDITIONS:
        raise BadQuery(
            f"required=in:, member_of, resources: {conditions} conditions (sets of traits, sets of "
            f"aggregates, classes) are too many together, {MAX_CONDITIONS} the most"
        )
    return ProviderFilter(
        name=values.get("name") or None,
        uuid=values.get("uuid"),
        in_tree=values.get("in_tree"),
        required=tuple(traits.required),
        forbidden=frozenset(traits.forbidden),
        member_of=tuple(membership.positive),
        not_member_of=frozenset(membership.negative),
        resources=amounts,
    )
