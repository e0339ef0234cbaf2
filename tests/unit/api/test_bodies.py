"""Bodies with any content are refused with short messages and at low cost."""

import tracemalloc
from collections.abc import Iterator, Mapping
from typing import Any

import orjson
import pytest
from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError

from placement.api.bodies import MAX_DEPTH, MAX_ITEMS, MAX_MEMBERS, OWNER, UUID_LIKE, Schema, decode
from placement.api.operations import aggregates, allocations, inventories, providers, traits
from placement.api.routes import ROUTES
from placement.errors import BadBody

TEXTS = Schema(
    {
        "uniqueItems": True,
        "items": {"pattern": "^a*$", "description": "a", "maxLength": 3, "type": "string"},
        "type": "array",
    }
)


def refusal(schema: Schema, value: Any) -> str:
    with pytest.raises(BadBody) as refused:
        schema.check(value)
    return str(refused.value)


def nested(depth: int) -> str:
    return "[" * depth + "1" + "]" * depth


def declared() -> Iterator[tuple[str, Schema]]:
    """Each schema of a body, with its operation and first version."""
    for route in ROUTES:
        if route.body_schema is not None:
            for version, schema in route.body_schema.table.items():
                yield f"{route.method} {route.path} {version}", schema


@pytest.mark.parametrize("schema", [pytest.param(each, id=name) for name, each in declared()])
def test_a_declared_schema_is_a_schema(schema: Schema) -> None:
    Draft202012Validator.check_schema(schema.schema)


def test_a_schema_that_is_none_is_noticed() -> None:
    with pytest.raises(SchemaError):
        Draft202012Validator.check_schema(Schema({"type": "object", "required": "name"}).schema)


def test_lists_and_objects_may_be_nested_as_deep_as_is_said() -> None:
    assert decode(nested(MAX_DEPTH).encode())
    assert decode(b'{"a":' * MAX_DEPTH + b"1" + b"}" * MAX_DEPTH)


@pytest.mark.parametrize("depth", [MAX_DEPTH, MAX_DEPTH + 1, 300, 980, 1020])
def test_deeper_nesting_is_refused_with_the_member_that_has_it(depth: int) -> None:
    with pytest.raises(BadBody, match=f"^traits: .* {MAX_DEPTH} deep"):
        decode(f'{{"name":[[]],"traits":{nested(depth)},"x":1}}'.encode())
    with pytest.raises(BadBody, match=f"^1: .* {MAX_DEPTH} deep"):
        decode(f"[[],{nested(depth)}]".encode())


def test_members_are_counted_before_any_of_them_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    most = b"[" + b"1," * (MAX_MEMBERS - 1) + b"1]"
    assert len(decode(most)) == MAX_MEMBERS
    monkeypatch.setattr("placement.api.bodies.orjson.loads", lambda raw: pytest.fail("it was read"))
    for more in (b"[" + most + b"]", most[:-1] + b",1]", b'{"a":' + most + b',"b":{}}'):
        with pytest.raises(BadBody, match=f"{MAX_MEMBERS} members"):
            decode(more)


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"", "The body is empty"),
        (b" \n", "The body is empty"),
        (b'{"name":"\xff"}', "its encoding must be UTF-8"),
        (b"\xff", "its encoding must be UTF-8"),
        (b'{"name":"\xed\xa0\x80"}', "its encoding must be UTF-8"),
        ('{"name":"x"}'.encode("utf-16"), "its encoding must be UTF-8"),
        (b'{"name":"\\ud800"}', "column 10 "),
        (b'\xef\xbb\xbf{"name":"x"}', "column 1 "),
        (b"{'name'", "JSON does not have '"),
    ],
)
def test_a_body_that_is_no_json_states_why(raw: bytes, message: str) -> None:
    with pytest.raises(BadBody, match=message):
        decode(raw)


def test_a_key_may_not_be_longer_than_any_name() -> None:
    with pytest.raises(BadBody, match=r"^xxx.*…: a key may have 255 characters"):
        decode(orjson.dumps([{"a": 1}, {"b": {"x" * 256: 1}}]))
    longest = [{"a": 1}, {"b": {"x" * 255: 1}}]
    assert decode(orjson.dumps(longest)) == longest


def test_lengths_and_types_are_looked_at_before_patterns_and_uniqueness() -> None:
    assert "too long" in refusal(TEXTS, ["a", "bbbb"])
    assert "is not of type 'string'" in refusal(TEXTS, ["a", "a", {}])
    assert "non-unique" in refusal(TEXTS, ["a", "a"])


def test_checking_ends_with_the_first_error(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    monkeypatch.setattr(
        "placement.api.keywords.identifiers.canonical", lambda text: read.append(text)
    )
    assert ": 0: " in refusal(Schema({"type": "array", "items": UUID_LIKE}), ["a"] * 1000)
    assert len(read) == 1


@pytest.mark.parametrize(
    "value",
    [
        ["x" * 10**6], {"x" * 255: 1}, [[[[[1] * 9] * 9] * 9] * 9], [1] * 10**5, "\x7f" * 10**6,
        dict.fromkeys(map(str, range(10**5)), "\U0001f600" * 255), 10**300, [{"a": {}}] * 10**5,
    ],
)  # fmt: skip
def test_no_value_makes_a_complaint_long(value: Any) -> None:
    for schema in (TEXTS, Schema(OWNER), Schema(UUID_LIKE), providers.CREATE.entries[0][1]):
        complaint = refusal(schema, value)
        assert len(complaint) < 600
        assert "\n" not in complaint


def of_mib(before: str, part: str, after: str) -> bytes:
    return f"{before}{part * (2**20 // len(part.encode()))}{after}".encode()


@pytest.mark.parametrize(
    ("table", "raw"),
    [
        (providers.CREATE, of_mib('{"name":"x","uuid":"', "{", '"}')),
        (providers.CREATE, of_mib('{"name":"\U0001f600', "\x7f", '"}')),
        (providers.CREATE, of_mib('{"name":[', f'"\U0001f600{"x" * 1000}",', "1]}")),
        (traits.REPLACE, of_mib("[", "[],", "1]")),
        (traits.REPLACE, of_mib("[", '{"":1},', "1]")),
        (aggregates.REPLACE, of_mib("[", '"ab",', "1]")),
        (inventories.REPLACE, of_mib('{"inventories":{"', "A", '!":1}}')),
        (allocations.REPLACE, of_mib('{"mappings":{"a":[', "1,", "1]}}")),
    ],
)
def test_a_refusal_needs_almost_no_memory_in_addition_to_the_value(table: Any, raw: bytes) -> None:
    schema, value = table.entries[-1][1], orjson.loads(raw)
    tracemalloc.start()
    try:
        refusal(schema, value)
        _now, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < len(raw) / 10


def _schemas(schema: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    if "oneOf" in schema:
        for each in schema["oneOf"]:
            yield from _schemas(each)
        return
    yield schema
    within = [*schema.get("properties", {}).values(), *schema.get("patternProperties", {}).values()]
    for each in [*within, *([schema["items"]] if "items" in schema else [])]:
        yield from _schemas(each)


def test_every_schema_bounds_its_texts_and_says_what_type_it_is_of() -> None:
    for route in ROUTES:
        for _since, checked in route.body_schema.entries if route.body_schema else ():
            for schema in _schemas(checked.schema):
                assert "type" in schema
                assert "string" not in schema["type"] or schema.keys() & {"maxLength", "enum"}
                assert "pattern" not in schema or "description" in schema


def test_what_a_provider_or_a_consumer_has_several_of_is_bounded() -> None:
    uuids = [f"{number:08x}-0000-4000-8000-000000000000" for number in range(MAX_ITEMS + 1)]
    names = [f"CUSTOM_{number}" for number in range(MAX_ITEMS + 1)]
    bodies: list[tuple[Any, Any]] = [
        (aggregates.REPLACE, {"aggregates": uuids}),
        (traits.REPLACE, {"traits": names}),
        (inventories.REPLACE, {"inventories": {name: {"total": 1} for name in names}}),
    ]
    for table, members in bodies:
        value = {"resource_provider_generation": 0, **members}
        assert f"at most {MAX_ITEMS} are allowed" in refusal(table.entries[-1][1], value)
    claim = {
        "project_id": "p", "user_id": "u", "consumer_generation": None, "consumer_type": "X",
        "allocations": {uuid: {"resources": {"VCPU": 1}} for uuid in uuids},
    }  # fmt: skip
    assert f"at most {MAX_ITEMS} are allowed" in refusal(allocations.REPLACE.entries[-1][1], claim)
