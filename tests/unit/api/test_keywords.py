"""Refusing a large body is cheap, and the error message is short."""

import re
from typing import Any

import pytest

from placement.api.bodies import Schema
from placement.api.candidate_requests import schema as candidates
from placement.api.history import Microversion, Versioned
from placement.api.keywords import compiled
from placement.api.operations import claims, resource_classes, simulations
from placement.errors import BadBody


def first(schema: dict[str, Any], value: object) -> str:
    """The first complaint; nothing beyond it is checked."""
    error = compiled(schema)(value)
    assert error is not None
    return error.message


def test_a_keyword_that_is_not_checked_is_refused() -> None:
    with pytest.raises(ValueError, match="not checked: const"):
        compiled({"type": "object", "properties": {"a": {"type": "integer", "const": 1}}})


def test_the_length_of_a_text_is_known_before_its_pattern_is_tried() -> None:
    schema = {"pattern": "^(a+)+$", "description": "a", "maxLength": 10, "type": "string"}
    assert "too long: at most 10" in first(schema, "a" * 50 + "!")


def test_items_are_known_to_be_texts_before_they_are_compared() -> None:
    schema = {"uniqueItems": True, "items": {"type": "string"}, "type": "array"}
    assert "is not of type 'string'" in first(schema, ["a", {"b": 1}, {"b": 1}])


@pytest.mark.parametrize(
    "value", ["x" * 10_000, list(range(10_000)), {str(n): n for n in range(10_000)}]
)
def test_little_is_repeated_of_what_is_large(value: object) -> None:
    assert len(first({"type": "integer"}, value)) < 400


@pytest.mark.parametrize(
    ("body", "path", "message"),
    [
        ({"hosts": [1, "two"]}, ["hosts", 1], "'two' is not of type 'integer'"),
        ({"sizes": {"A": 1, "B": "many"}}, ["sizes", "B"], "'many' is not of type 'integer'"),
        ({"other": 1}, [], "('other' was unexpected)"),
    ],
)
def test_an_error_says_where_it_is(body: object, path: list[object], message: str) -> None:
    integer = {"type": "integer"}
    schema = {
        "type": "object",
        "properties": {
            "hosts": {"type": "array", "items": integer},
            "sizes": {"type": "object", "patternProperties": {"^[A-Z]+$": integer}},
        },
        "additionalProperties": False,
    }
    error = compiled(schema)(body)
    assert error is not None
    assert list(error.path) == path
    assert message in error.message


def test_keys_that_may_not_be_there_are_called_what_they_should_be() -> None:
    schema = {
        "type": "object",
        "propertyNames": {"description": "a resource class"},
        "patternProperties": {"^[A-Z]+$": {"type": "integer"}},
        "additionalProperties": False,
    }
    assert first(schema, {"cpu": 1}) == "'cpu' is not a resource class"


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object"},
        {"type": "array"},
        {"type": "object", "patternProperties": {"^A$": {"type": "string"}}},
        {"type": "array", "items": {"type": ["string", "null"]}},
    ],
)
@pytest.mark.parametrize("value", [None, 1, 1.5, "x", True, [], {}, [1], {"A": 1}])
def test_every_wrong_type_is_described(schema: dict[str, object], value: object) -> None:
    error = compiled(schema)(value)
    is_right = isinstance(value, dict if schema["type"] == "object" else list)
    assert is_right or (error is not None and "is not of type" in error.message)


@pytest.mark.parametrize("text", ["x", "", "c0de0000-0000-4000-8000"])
def test_a_uuid_is_checked_by_its_meaning(text: str) -> None:
    schema = {"type": "string", "format": "uuid"}
    assert re.search("uuid", first(schema, text))
    assert compiled(schema)("C0DE0000000040008000000000000001") is None


@pytest.mark.parametrize(
    ("value", "complaint"),
    [
        (["N"] * 3, None),
        ("N" * 3, "is too long: at most 2"),
        (["N" * 3], "is too long: at most 2"),
        (["N"] * 5, "is too long: at most 4"),
    ],
)
def test_the_largest_length_of_a_text_is_not_that_of_a_list_of_texts(
    value: object, complaint: str | None
) -> None:
    text = {"type": "string", "maxLength": 2}
    schema = {**text, "type": ["string", "array"], "items": text, "maxItems": 4}
    if complaint is None:
        assert compiled(schema)(value) is None
    else:
        assert complaint in first(schema, value)


@pytest.mark.parametrize(
    ("value", "is_valid"), [(5, True), (5.0, True), (5.5, False), (True, False), (0.0, False)]
)
def test_a_number_without_a_fraction_is_an_integer(value: object, is_valid: bool) -> None:
    for types in ("integer", ["integer", "null"]):
        assert (compiled({"type": types, "minimum": 1})(value) is None) is is_valid


@pytest.mark.parametrize(
    ("schema", "value", "message"),
    [
        (simulations.RUN, {"changes": [{"drain": ["compute-a01"]}]},
         "changes[0].drain[0]: 'compute-a01': expected the UUID of a host, or new:N for the Nth "
         "host that the changes add"),
        (simulations.RUN, {"drain": ["compute-a01"]},
         "body: Additional properties are not allowed ('drain' was unexpected); did you mean "
         "changes[0].drain?"),
        (simulations.RUN, {"drains": ["compute-a01"]},
         "body: Additional properties are not allowed ('drains' was unexpected); there are "
         "changes, headroom, order, requests"),
        (candidates.FIND, {"groups": {"": {"resource": {"VCPU": 1}}}},
         'groups[""]: Additional properties are not allowed (\'resource\' was unexpected); did you '
         "mean resources?"),
        (claims.CREATE, {"request": {"groups": {"": {}}}, "expire_in": 5},
         "body: Additional properties are not allowed ('expire_in' was unexpected); did you mean "
         "expires_in?"),
        (resource_classes.CREATE, {"name": "GOLD"},
         "name: 'GOLD': expected CUSTOM_ and capital letters, digits and _"),
    ],
)  # fmt: skip
def test_errors_name_what_is_expected(
    schema: Versioned[Schema], value: object, message: str
) -> None:
    with pytest.raises(BadBody) as raised:
        schema.at(Microversion(2, 0)).check(value)
    assert str(raised.value) == f"JSON does not validate: {message}"
