"""Responses about traits, which are their names."""

from collections.abc import Iterable, Sequence

from placement.api import samples
from placement.api.members import GENERATION_MEMBER, AtGeneration
from placement.api.shapes import Array, Json, Object, Property
from placement.objects.traits import Trait

NAMES = Array(Json({"type": "string", "examples": [samples.TRAIT]}))


def _names(traits: Iterable[Trait]) -> Sequence[str]:
    return [trait.name for trait in traits]


TRAITS: Object[Iterable[Trait]] = Object("Traits", Property("traits", NAMES, _names))
PROVIDER_TRAITS: Object[AtGeneration[Iterable[Trait]]] = Object(
    "ProviderTraits",
    Property("traits", NAMES, lambda provider: _names(provider.value)),
    GENERATION_MEMBER,
)
