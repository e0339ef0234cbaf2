"""Responses about resource classes."""

from collections.abc import Iterable

from placement.api import samples
from placement.api.members import LINK
from placement.api.shapes import Array, Custom, Json, Object, Property, itself

_PATH = "/resource_classes/"


_EXAMPLE = {"rel": "self", "href": f"{_PATH}{samples.CUSTOM_CLASS}"}
_LINKS = Custom(
    Json({"type": "array", "items": LINK, "examples": [[_EXAMPLE]]}),
    lambda view: lambda name: [{"rel": "self", "href": f"{view.mount}{_PATH}{name}"}],
)
RESOURCE_CLASS: Object[str] = Object(
    "ResourceClass",
    Property("name", Json({"type": "string", "examples": [samples.CUSTOM_CLASS]}), itself),
    Property("links", _LINKS, itself),
)
RESOURCE_CLASSES: Object[Iterable[str]] = Object(
    "ResourceClasses", Property("resource_classes", Array(RESOURCE_CLASS), itself)
)
