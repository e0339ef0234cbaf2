"""Refusing a large body is cheap, and the error message is short."""

import re
from collections.abc import Iterator
from typing import Any

import pytest

from placement.api import keywords
from placement.api.candidate_requests import schema as candidates
from placement.api.history import Versioned
from placement.api.json_body import Schema
from placement.api.keywords import FORMATS, ORDER, Validator, in_order
from placement.api.microversion import Microversion
from placement.api.operations import claims, resource_classes, simulations
from placement.errors import BadBody


def complaints(schema: dict[str, Any], value: object) -> Iterator[tuple[list[object], str]]:
    validator = Validator(in_order(schema), format_checker=FORMATS)
    for error in validator.iter_errors(value):
        yield list(error.absolute_path), error.message


def first(schema: dict[str, Any], value: object) -> str:
    """The first complaint; nothing beyond it is checked."""
    return next(complaints(schema, value))[1]


def test_keywords_are_put_in_order_at_every_depth() -> None:
    schema = {
        "items": {"pattern": "^a$", "description": "a", "maxLength": 3, "type": "string"},
        "type": "array",
        "maxItems": 2,
    }
    assert list(in_order(schema)) == ["type", "maxItems", "items"]
    assert list(in_order(schema)["items"]) == ["type", "maxLength", "pattern", "description"]
    nested = {"properties": {"name": {"format": "uuid", "type": "string"}}, "type": "object"}
    assert list(in_order(nested)["properties"]["name"]) == ["type", "format"]


def test_a_keyword_without_an_order_is_refused() -> None:
    assert "const" not in ORDER
    with pytest.raises(ValueError, match="not in"):
        in_order({"type": "object", "properties": {"a": {"const": 1}}})


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


def test_an_error_says_where_it_is() -> None:
    schema = {
        "type": "object",
        "properties": {"hosts": {"type": "array", "items": {"type": "integer"}}},
        "patternProperties": {"^[A-Z]+$": {"type": "integer"}},
        "additionalProperties": False,
    }
    body = {"hosts": [1, "two"], "VCPU": "many", "other": 1}
    found = list(complaints(schema, body))
    assert [path for path, _message in found if path] == [["hosts", 1], ["VCPU"]]
    assert any("('other' was unexpected)" in message for path, message in found if not path)


def test_keys_that_may_not_be_there_are_called_what_they_should_be() -> None:
    schema = {
        "type": "object",
        "propertyNames": {"description": "a resource class"},
        "patternProperties": {"^[A-Z]+$": {}},
        "additionalProperties": False,
    }
    assert first(schema, {"cpu": 1}) == "'cpu' is not a resource class"


@pytest.mark.parametrize("text", ["x", "", "c0de0000-0000-4000-8000"])
def test_a_uuid_is_checked_by_its_meaning(text: str) -> None:
    schema = {"type": "string", "format": "uuid"}
    assert re.search("uuid", first(schema, text))
    assert not list(complaints(schema, "C0DE0000000040008000000000000001"))


def test_texts_that_were_right_are_remembered_up_to_a_bound(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(keywords, "MAX_REMEMBERED", 3)
    item = {"type": ["string", "array"], "pattern": "^[A-Z0-9]+$", "description": "A"}
    names = {"type": "array", "items": item}
    schema = Schema({"type": "object", "properties": {"names": names}})
    for number in (*range(10), 1):
        schema.check({"names": [f"N{number}", f"N{number}"]})
        wrong: object
        for wrong in ("n1", "", 1, None, {}):
            with pytest.raises(BadBody, match=r"names\.1"):
                schema.check({"names": [f"N{number}", wrong]})
    (compiled,) = (each for each in keywords._compiled.values() if "N1" in each.texts)
    assert len(compiled.texts) <= 3
    schema.check({"names": ["N" * 100]})
    assert "N" * 100 not in compiled.texts


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
        assert not list(complaints(schema, value))
    else:
        assert complaint in first(schema, value)


@pytest.mark.parametrize(
    ("schema", "value", "message"),
    [
        (simulations.RUN, {"changes": [{"drain": ["compute-a01"]}]},
         "changes[0].drain[0]: 'compute-a01': expected the UUID of a host, or new:N for the Nth "
         "host that the changes add"),
        (simulations.RUN, {"drain": ["compute-a01"]},
         "body: Additional properties are not allowed ('drain' was unexpected); there are changes, "
         "headroom, order, requests"),
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
