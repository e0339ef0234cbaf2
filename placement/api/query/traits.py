"""The filters of `GET /traits`."""

from collections.abc import Mapping

from placement.api.microversion import Microversion
from placement.api.parameters import Pairs, Parameter, bad, last_values, matching
from placement.objects.traits import TraitFilter

PARAMETERS: Mapping[str, Parameter] = {
    "name": Parameter(
        "1.6",
        "Names of traits (`in:NAME,NAME`), or a prefix of names (`startswith:PREFIX`).",
        matching(".*:.*"),
    ),
    "associated": Parameter(
        "1.6", "Whether at least one provider has the trait.", {"type": "boolean"}
    ),
}


def parse_trait_filter(query: Pairs, version: Microversion) -> TraitFilter:
    """Parse the filters.  Raises BadQuery."""
    values = last_values(query, PARAMETERS, version)
    names: frozenset[str] | None = None
    prefix: str | None = None
    if "name" in values:
        operator, colon, text = values["name"].partition(":")
        if not colon:
            raise bad("name", values["name"], "expected in:NAME,NAME… or startswith:PREFIX")
        if operator == "in":
            names = frozenset(text.split(","))
        elif operator == "startswith":
            prefix = text
    associated: bool | None = None
    if "associated" in values:
        stated = values["associated"].lower()
        if stated not in {"true", "false"}:
            raise bad("associated", values["associated"], "expected true or false")
        associated = stated == "true"
    return TraitFilter(names, prefix, associated)
