"""`/resource_classes` (contract resources.md section 3)."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from placement.api import commands
from placement.api.handler import NOW, Call, Reply, newest
from placement.objects import resource_classes


def _render(name: str, mount: str) -> Mapping[str, Any]:
    link = {"rel": "self", "href": f"{mount}/resource_classes/{name}"}
    return {"name": name, "links": [link]}


def list_classes(call: Call) -> Reply:
    """All classes."""
    with call.service.database.read() as conn:
        found = resource_classes.find(conn)
    return Reply(
        200,
        {"resource_classes": [_render(each.name, call.mount) for each in found]},
        changed_at=newest([each.changed_at for each in found]),
    )


def show(call: Call) -> Reply:
    """One class."""
    with call.service.database.read() as conn:
        found = resource_classes.get(conn, call.path["name"])
    return Reply(200, _render(found.name, call.mount), changed_at=found.changed_at or NOW)


def create(call: Call) -> Reply:
    """A new custom class."""
    name = call.body["name"]
    call.service.database.write(partial(resource_classes.create, name=name))
    return Reply(201, location=f"/resource_classes/{name}")


def rename(call: Call) -> Reply:
    """A custom class gets another name; whatever uses it follows."""
    name = call.body["name"]
    call.service.database.write(
        partial(resource_classes.rename, name=call.path["name"], new_name=name)
    )
    return Reply(200, _render(name, call.mount))


def ensure(call: Call) -> Reply:
    """A custom class, new or not."""
    name = commands.custom_name(call.path["name"], "resource class")
    new = call.service.database.write(partial(resource_classes.ensure, name=name))
    return Reply(201 if new else 204, location=f"/resource_classes/{name}")


def delete(call: Call) -> Reply:
    """A custom class that no inventory uses goes."""
    call.service.database.write(partial(resource_classes.delete, name=call.path["name"]))
    return Reply(204)
