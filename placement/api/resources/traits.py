"""`/traits` and the traits of providers."""

from functools import partial

from placement.api import tags
from placement.api.bodies import custom_name
from placement.api.handler import NOW, Call, Reply, newest
from placement.api.members import AtGeneration
from placement.api.parameters import pairs
from placement.api.query.traits import parse_trait_filter
from placement.objects import traits


def list_traits(call: Call) -> Reply:
    """List the traits that satisfy all filters."""
    filters = parse_trait_filter(pairs(call.query_string), call.version)
    with call.service.database.read() as conn:
        matching = traits.find(conn, filters)
    return Reply(200, matching, changed_at=newest([trait.changed_at for trait in matching]))


def check_trait(call: Call) -> Reply:
    """Check whether a trait exists."""
    trait = call.service.database.read_one(partial(traits.get, name=call.path["name"]))
    return Reply(204, changed_at=trait.changed_at or NOW)


def ensure_trait(call: Call) -> Reply:
    """Create a custom trait, unless it exists."""
    name = custom_name(call.path["name"], "trait")
    trait, new = call.service.database.write(partial(traits.ensure, name=name))
    return Reply(
        201 if new else 204, location=f"/traits/{name}", changed_at=trait.changed_at or NOW
    )


def delete_trait(call: Call) -> Reply:
    """Delete a custom trait that no provider has."""
    call.service.database.write(partial(traits.delete, name=call.path["name"]))
    return Reply(204)


def list_provider_traits(call: Call) -> Reply:
    """List the traits of a provider."""
    tag_of = partial(tags.get_for_provider, call)
    with call.service.database.read_trees() as conn:
        provider, provider_traits = traits.get_for_provider(conn, call.path["uuid"], tag_of)
    changed_at = newest([trait.changed_at for trait in provider_traits])
    answer = AtGeneration(provider.generation, provider_traits)
    return Reply(200, answer, changed_at=changed_at, tag=tag_of(provider))


def replace_provider_traits(call: Call) -> Reply:
    """Replace the traits of a provider."""
    generation, provider_traits = call.service.database.write(
        partial(
            traits.replace,
            uuid=call.path["uuid"],
            generation=call.body["resource_provider_generation"],
            trait_names=call.body["traits"],
        )
    )
    changed_at = newest([trait.changed_at for trait in provider_traits])
    return Reply(200, AtGeneration(generation, provider_traits), changed_at=changed_at)


def delete_provider_traits(call: Call) -> Reply:
    """Remove all traits from a provider."""
    call.service.database.write(partial(traits.clear, uuid=call.path["uuid"]))
    return Reply(204)
