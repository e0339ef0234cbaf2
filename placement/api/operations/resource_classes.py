"""`/resource_classes`."""

from collections.abc import Iterable

from placement.api import samples
from placement.api.bodies import CUSTOM_NAME, Schema, closed, custom_name
from placement.api.handler import NOW, Call, Reply, newest
from placement.api.history import Versioned
from placement.api.members import LINK
from placement.api.shapes import Array, Custom, Json, Object, Property, itself
from placement.objects import resource_classes

NAMED = Schema(closed({"name": CUSTOM_NAME}))

CREATE = Versioned({"1.2": NAMED})
RENAME = Versioned({"1.2": NAMED})

_PATH = "/resource_classes/"

_EXAMPLE = {"rel": "self", "href": f"{_PATH}{samples.CUSTOM_CLASS}"}
_LINKS = Custom(
    Json.of("array", [_EXAMPLE], items=LINK),
    lambda view: lambda name: [{"rel": "self", "href": f"{view.mount}{_PATH}{name}"}],
)
RESOURCE_CLASS: Object[str] = Object(
    "ResourceClass",
    Property("name", Json.of("string", samples.CUSTOM_CLASS), itself),
    Property("links", _LINKS, itself),
)
RESOURCE_CLASSES: Object[Iterable[str]] = Object(
    "ResourceClasses", Property("resource_classes", Array(RESOURCE_CLASS), itself)
)


def list_resource_classes(call: Call) -> Reply:
    """List all resource classes, standard and custom."""
    classes = call.read_one(resource_classes.find)
    names = [resource_class.name for resource_class in classes]
    return Reply(200, names, changed_at=newest([each.changed_at for each in classes]))


def show_resource_class(call: Call) -> Reply:
    """Show a resource class."""
    resource_class = call.read_one(resource_classes.get, name=call.path["name"])
    return Reply(200, resource_class.name, changed_at=resource_class.changed_at or NOW)


def create_resource_class(call: Call) -> Reply:
    """Create a custom resource class."""
    name = call.body["name"]
    call.write(resource_classes.create, name=name)
    return Reply(201, location=f"/resource_classes/{name}")


def rename_resource_class(call: Call) -> Reply:
    """Rename a custom resource class. Its inventories and allocations do not change."""
    name = call.body["name"]
    call.write(resource_classes.rename, name=call.path["name"], new_name=name)
    return Reply(200, name)


def ensure_resource_class(call: Call) -> Reply:
    """Create a custom resource class, unless it exists."""
    name = custom_name(call.path["name"], "resource class")
    new = call.write(resource_classes.ensure, name=name)
    return Reply(201 if new else 204, location=f"/resource_classes/{name}")


def delete_resource_class(call: Call) -> Reply:
    """Delete a custom resource class that no inventory uses."""
    call.write(resource_classes.delete, name=call.path["name"])
    return Reply(204)
