"""`/traits` and the traits of providers."""

from collections.abc import Iterable, Mapping, Sequence

from placement.api import samples, tags
from placement.api.bodies import GENERATION, MAX_ITEMS, TEXT, Schema, closed, custom_name, sample
from placement.api.handler import NOW, Call, Reply, newest
from placement.api.history import Feature, Microversion, Versioned
from placement.api.members import GENERATION_MEMBER, AtGeneration
from placement.api.parameters import Pairs, Parameter, bad, last_values, matching, pairs
from placement.api.shapes import Array, Json, Object, Property
from placement.objects import traits
from placement.objects.catalog import Entry
from placement.objects.traits import TraitFilter

NEW_NAMES = {
    "type": "array",
    "maxItems": MAX_ITEMS,
    "items": sample({**TEXT, "minLength": 1, "maxLength": 255}, samples.TRAIT),
}

REPLACE = Versioned(
    {"1.6": Schema(closed({"traits": NEW_NAMES, "resource_provider_generation": GENERATION}))}
)

# Before 2.0, other operators select all traits, as in openstack-placement.
OPERATORS = ("in", "startswith")
PARAMETERS: Mapping[str, Parameter] = {
    "name": Parameter(
        "1.6",
        "Names of traits (`in:NAME,NAME`), or a prefix of names (`startswith:PREFIX`).",
        matching("(in|startswith):.*"),
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
        if not colon or (operator not in OPERATORS and Feature.WHOLE_LANGUAGE.at(version)):
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


NAMES = Array(Json.of("string", samples.TRAIT))


def _names(traits: Iterable[Entry]) -> Sequence[str]:
    return [trait.name for trait in traits]


TRAITS: Object[Iterable[Entry]] = Object("Traits", Property("traits", NAMES, _names))
PROVIDER_TRAITS: Object[AtGeneration[Iterable[Entry]]] = Object(
    "ProviderTraits",
    Property("traits", NAMES, lambda provider: _names(provider.value)),
    GENERATION_MEMBER,
)


def list_traits(call: Call) -> Reply:
    """List the traits that satisfy all filters."""
    filters = parse_trait_filter(pairs(call.query_string), call.version)
    with call.service.database.read() as conn:
        matching = traits.find(conn, filters)
    return Reply(200, matching, changed_at=newest([trait.changed_at for trait in matching]))


def check_trait(call: Call) -> Reply:
    """Check whether a trait exists."""
    trait = call.read_one(traits.get, name=call.path["name"])
    return Reply(204, changed_at=trait.changed_at or NOW)


def ensure_trait(call: Call) -> Reply:
    """Create a custom trait, unless it exists."""
    name = custom_name(call.path["name"], "trait")
    trait, new = call.write(traits.ensure, name=name)
    return Reply(
        201 if new else 204, location=f"/traits/{name}", changed_at=trait.changed_at or NOW
    )


def delete_trait(call: Call) -> Reply:
    """Delete a custom trait that no provider has."""
    call.write(traits.delete, name=call.path["name"])
    return Reply(204)


def list_provider_traits(call: Call) -> Reply:
    """List the traits of a provider."""
    provider, provider_traits, tag = tags.read_provider(call, traits.read)
    changed_at = newest([trait.changed_at for trait in provider_traits])
    content = AtGeneration(provider.generation, provider_traits)
    return Reply(200, content, changed_at=changed_at, tag=tag)


def replace_provider_traits(call: Call) -> Reply:
    """Replace the traits of a provider."""
    generation, provider_traits = call.write(
        traits.replace,
        uuid=call.path["uuid"],
        generation=call.body["resource_provider_generation"],
        trait_names=call.body["traits"],
    )
    changed_at = newest([trait.changed_at for trait in provider_traits])
    return Reply(200, AtGeneration(generation, provider_traits), changed_at=changed_at)


def delete_provider_traits(call: Call) -> Reply:
    """Remove all traits from a provider."""
    call.write(traits.clear, uuid=call.path["uuid"])
    return Reply(204)
