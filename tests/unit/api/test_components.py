"""Named schemas of the document, and examples that are built from the examples of their leaves."""

from __future__ import annotations

from typing import Any

import pytest

from placement.api.components import Components, example_of

LINK = {"title": "Link", "type": "object", "properties": {"href": {"type": "string"}}}


def test_a_schema_with_a_title_is_referred_to() -> None:
    components = Components()
    placed = components.add({"type": "array", "items": LINK})
    assert placed == {"type": "array", "items": {"$ref": "#/components/schemas/Link"}}
    assert components.schemas == {"Link": LINK}


def test_a_member_that_is_called_title_names_nothing() -> None:
    components = Components()
    schema = {"type": "object", "properties": {"title": {"type": "string"}}}
    assert components.add(schema) == schema
    assert not components.schemas


def test_two_schemas_of_one_name_are_a_fault() -> None:
    components = Components()
    components.add(LINK)
    with pytest.raises(ValueError, match="two schemas are called Link"):
        components.add({**LINK, "properties": {}})


def test_keys_of_one_form_are_described_as_generators_take_them() -> None:
    schema = {
        "type": "object",
        "propertyNames": {"description": "a class", "examples": ["VCPU"]},
        "patternProperties": {"^[A-Z]+$": {"type": "integer", "examples": [4]}},
        "additionalProperties": False,
    }
    placed = Components().add(schema)
    assert placed["propertyNames"]["pattern"] == "^[A-Z]+$"
    assert placed["additionalProperties"]["type"] == "integer"
    assert "patternProperties" not in placed
    assert example_of(schema) == {"VCPU": 4}


@pytest.mark.parametrize(
    ("schema", "example"),
    [
        ({"type": "integer", "examples": [7, 8]}, 7),
        ({"type": "array", "items": {"type": "string", "examples": ["a"]}}, ["a"]),
        ({"type": "object", "properties": {"a": {"examples": [None]}}}, {"a": None}),
    ],
)
def test_an_example_is_built_from_nested_examples(schema: Any, example: object) -> None:
    assert example_of(schema) == example


def test_a_schema_without_an_example_is_a_fault() -> None:
    with pytest.raises(ValueError, match="no example"):
        example_of({"type": "object", "properties": {"a": {"type": "string"}}})
