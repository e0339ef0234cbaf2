"""The parameters of `GET /allocations`."""

from collections.abc import Mapping

from placement.api.microversion import Microversion
from placement.api.parameters import PROVIDER_UUID, Pairs, Parameter, bad, last_values, matching
from placement.api.query.providers import DASHED_UUID
from placement.errors import BadQuery
from placement.objects import identifiers

PARAMETERS: Mapping[str, Parameter] = {
    "in_tree": Parameter(
        "2.0",
        "UUID of a provider; the allocations of all consumers that use its tree are listed.",
        matching(DASHED_UUID),
        required=True,
    ),
}


def parse_allocation_query(query: Pairs, version: Microversion) -> str:
    """Return the UUID of the provider whose tree is requested.  Raises BadQuery."""
    values = last_values(query, PARAMETERS, version)
    if "in_tree" not in values:
        raise BadQuery("in_tree: this parameter is required")
    uuid = identifiers.canonical(values["in_tree"])
    if uuid is None:
        raise bad("in_tree", values["in_tree"], PROVIDER_UUID)
    return uuid
