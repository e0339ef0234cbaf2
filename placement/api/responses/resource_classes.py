"""Responses about resource classes."""

from collections.abc import Iterable
from dataclasses import dataclass

from placement.api import samples
from placement.api.microversion import Microversion
from placement.api.responses.common import LINK
from placement.api.shapes import Array, Fragment, Json, Object, Property, Renderer, View, itself

_PATH = "/resource_classes/"


@dataclass(frozen=True, eq=False)
class _ClassLink:
    """The link to a class, rendered from its name."""

    def schema(self, version: Microversion) -> Fragment:
        """Return the schema of the list."""
        example = {"rel": "self", "href": f"{_PATH}{samples.CUSTOM_CLASS}"}
        return {"type": "array", "items": LINK, "examples": [[example]]}

    def renderer(self, view: View) -> Renderer:
        """Return a function that makes the list."""
        return lambda name: [{"rel": "self", "href": f"{view.mount}{_PATH}{name}"}]


RESOURCE_CLASS: Object[str] = Object(
    "ResourceClass",
    Property("name", Json({"type": "string", "examples": [samples.CUSTOM_CLASS]}), itself, "1.2"),
    Property("links", _ClassLink(), itself, "1.2"),
)
RESOURCE_CLASSES: Object[Iterable[str]] = Object(
    "ResourceClasses", Property("resource_classes", Array(RESOURCE_CLASS), itself, "1.2")
)
