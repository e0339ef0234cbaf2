"""Shapes that several responses have in common."""

from datetime import UTC, datetime
from operator import attrgetter
from typing import Generic, NamedTuple, TypeVar

from placement.api import samples
from placement.api.shapes import Custom, Fragment, Json, Property

T = TypeVar("T")

UUID_KEY: Fragment = {"type": "string", "examples": [samples.PROVIDER]}
CLASS_KEY: Fragment = {"type": "string", "examples": ["VCPU"]}

UUID = Json(UUID_KEY)
ROOT_UUID = Json.of("string", samples.ROOT)
PARENT_UUID = Json.of(["string", "null"], samples.PARENT)
# null if the database contains the consumer, but not its project or user.
PROJECT = Json.of(["string", "null"], samples.PROJECT)
USER = Json.of(["string", "null"], samples.USER)
AMOUNTS = Json(
    {
        "title": "Amounts",
        "type": "object",
        "additionalProperties": {"type": "integer"},
        "examples": [samples.AMOUNTS],
    }
)


class AtGeneration(NamedTuple, Generic[T]):
    """A part of a provider, with the provider's generation."""

    # Generation of the provider.
    generation: int
    # Value of the part.
    value: T


CHANGING = Json(
    {
        "type": "boolean",
        "const": True,
        "description": (
            "Only present if the content kept changing while it was read. Then generations and "
            "parts may belong to different moments, but no part is older than its generation."
        ),
        "examples": [],  # examples show the usual case
    }
)

PROVIDER_GENERATION = Json.of("integer", 7)
GENERATION_MEMBER = Property(
    "resource_provider_generation", PROVIDER_GENERATION, attrgetter("generation")
)

LINK: Fragment = {
    "title": "Link",
    "type": "object",
    "required": ["rel", "href"],
    "properties": {
        "rel": {"type": "string", "examples": ["self"]},
        "href": {"type": "string", "examples": [f"/resource_providers/{samples.PROVIDER}"]},
    },
    "additionalProperties": False,
}
LINK_LIST = Json({"type": "array", "items": LINK})


def next_links(path: str) -> Custom:
    """Return the shape of links to the next page of a list, for the query string of that page."""
    return Custom(
        LINK_LIST,
        lambda view: lambda query: [{"rel": "next", "href": f"{view.mount}{path}?{query}"}],
    )


def utc_time(seconds: int) -> str:
    """Return a time in seconds since 1970 as the API shows it."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


TIME_SCHEMA = {"type": "string", "format": "date-time", "examples": ["2026-01-31T12:00:00Z"]}
UTC_TIME = Custom(Json(TIME_SCHEMA), lambda _view: utc_time)
