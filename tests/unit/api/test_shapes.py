"""Shapes render and describe a value consistently, at each version."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from placement.api.history import v
from placement.api.shapes import Array, Json, Object, Property, Response, Table, View, itself

TEXT = Json({"type": "string"})


@dataclass
class Host:
    """Something to show."""

    name: str
    cpus: int


HOST: Object[Host] = Object(
    "Host",
    Property("name", TEXT),
    Property("cpus", TEXT, lambda host: str(host.cpus), since="1.5"),
    Property("cpus", Json({"type": "integer"}), since="1.20"),
    optional=("cpus",),
)


@pytest.mark.parametrize(
    ("version", "rendered", "schemas"),
    [
        ("1.0", {"name": "h"}, {"name": {"type": "string"}}),
        (
            "1.5",
            {"name": "h", "cpus": "8"},
            {"name": {"type": "string"}, "cpus": {"type": "string"}},
        ),
        (
            "1.39",
            {"name": "h", "cpus": 8},
            {"name": {"type": "string"}, "cpus": {"type": "integer"}},
        ),
    ],
)
def test_a_member_is_shown_and_described_from_its_version_on(
    version: str, rendered: object, schemas: object
) -> None:
    assert HOST.renderer(View(v(version)))(Host("h", 8)) == rendered
    schema = HOST.schema(v(version))
    assert schema["properties"] == schemas
    assert schema["required"] == ["name"]


def test_shapes_within_shapes_follow_the_version() -> None:
    hosts: Object[list[Host]] = Object(
        "Hosts",
        Property("list", Array(HOST), itself),
        Property(
            "table",
            Table({"type": "string"}, HOST),
            lambda all_: {each.name: each for each in all_},
        ),
    )
    assert Response(hosts).render([Host("h", 8)], View(v("1.0"))) == {
        "list": [{"name": "h"}],
        "table": {"h": {"name": "h"}},
    }
    schema = hosts.schema(v("1.5"))
    assert "cpus" in schema["properties"]["list"]["items"]["properties"]
    assert "cpus" in schema["properties"]["table"]["additionalProperties"]["properties"]


def test_an_object_has_no_form_before_its_first_member() -> None:
    late: Object[Host] = Object("Late", Property("name", TEXT, since="1.20"))
    with pytest.raises(LookupError):
        late.schema(v("1.19"))


def test_a_member_of_an_unknown_version_fails_when_declared() -> None:
    with pytest.raises(ValueError, match="no such microversion"):
        Object("Host", Property("name", TEXT, since="1.99"))
