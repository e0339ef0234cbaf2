"""`/traits` and the traits of providers (contract resources.md section 4)."""

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

from placement.api import commands, query
from placement.api.handler import NOW, Call, Reply, newest
from placement.objects import traits
from placement.objects.traits import Trait


def list_traits(call: Call) -> Reply:
    """Traits that meet all filters."""
    wanted = query.parse_trait_filter(query.pairs(call.query_string), call.version)
    with call.service.database.read() as conn:
        found = traits.find(conn, wanted)
    changed_at = newest([trait.changed_at for trait in found])
    return Reply(200, {"traits": [trait.name for trait in found]}, changed_at=changed_at)


def show(call: Call) -> Reply:
    """Whether a trait exists."""
    with call.service.database.read() as conn:
        found = traits.get(conn, call.path["name"])
    return Reply(204, changed_at=found.changed_at or NOW)


def ensure(call: Call) -> Reply:
    """A custom trait, new or not."""
    name = commands.custom_name(call.path["name"], "trait")
    trait, new = call.service.database.write(partial(traits.ensure, name=name))
    return Reply(
        201 if new else 204, location=f"/traits/{name}", changed_at=trait.changed_at or NOW
    )


def delete(call: Call) -> Reply:
    """A custom trait that no provider has goes."""
    call.service.database.write(partial(traits.delete, name=call.path["name"]))
    return Reply(204)


def _render(found: Iterable[Trait], generation: int) -> Mapping[str, Any]:
    return {
        "traits": [trait.name for trait in found],
        "resource_provider_generation": generation,
    }


def of_provider(call: Call) -> Reply:
    """The traits of a provider."""
    with call.service.database.read() as conn:
        provider, found = traits.of_provider(conn, call.path["uuid"])
    changed_at = newest([trait.changed_at for trait in found])
    return Reply(200, _render(found, provider.generation), changed_at=changed_at)


def replace(call: Call) -> Reply:
    """The whole set of a provider."""
    generation, found = call.service.database.write(
        partial(
            traits.replace,
            uuid=call.path["uuid"],
            generation=call.body["resource_provider_generation"],
            trait_names=call.body["traits"],
        )
    )
    changed_at = newest([trait.changed_at for trait in found])
    return Reply(200, _render(found, generation), changed_at=changed_at)


def clear(call: Call) -> Reply:
    """The provider's traits go."""
    call.service.database.write(partial(traits.clear, uuid=call.path["uuid"]))
    return Reply(204)
