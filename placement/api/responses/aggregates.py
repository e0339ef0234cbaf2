"""Responses about the aggregates of a provider."""

from collections.abc import Sequence
from dataclasses import replace
from operator import attrgetter

from placement.api import samples
from placement.api.history import Feature
from placement.api.members import GENERATION_MEMBER, AtGeneration
from placement.api.shapes import Array, Json, Object, Property

UUIDS = Array(Json({"type": "string", "examples": [samples.AGGREGATE]}))

AGGREGATES: Object[AtGeneration[Sequence[str]]] = Object(
    "ProviderAggregates",
    Property("aggregates", UUIDS, attrgetter("value")),
    replace(GENERATION_MEMBER, since=Feature.AGGREGATE_GENERATION.value),
)
