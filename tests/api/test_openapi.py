"""The document of the API, and a walk of the API by it.

`make test` walks a little. The number of examples of each operation and version in the long walk:
``PLACEMENT_WALK=500 pytest tests/api/test_openapi.py``.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from dataclasses import asdict
from typing import Any

import falcon.testing
import pytest
import schemathesis
import sqlalchemy as sa
from hypothesis import HealthCheck, Phase, given, settings
from jsonschema import Draft202012Validator
from openapi_spec_validator import validate
from schemathesis.checks import not_a_server_error
from schemathesis.core.result import Ok
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from placement import cli, config
from placement.api.bodies import UUID_LIKE, UUID_PATTERN
from placement.api.history import HISTORY, LATEST, v
from placement.api.openapi import describe
from placement.api.operations.inventories import read_record
from placement.api.routes import OPERATIONS
from placement.db import tables as t
from placement.entry import app
from tests.kit.builders import make_database
from tests.kit.cloud import aggregate_uuid, building, consumer_uuid, provider_uuid
from tests.kit.service import Client

REFERENCE = r"#/components/(\w+)/([^\"/]+)"
EXAMPLES = int(os.environ.get("PLACEMENT_WALK", "3"))
WALKED = ("1.0", "1.12", "1.28", str(LATEST), "2.0")
# Headers that most responses have.
USUAL_HEADERS = {
    "cache-control", "content-length", "content-type", "last-modified", "openstack-api-version",
    "vary", "x-openstack-request-id",
}  # fmt: skip


def header_conformance(_context: Any, response: Any, case: Any) -> None:
    """Check that the document contains the headers of a response."""
    described = case.operation.definition.raw["responses"].get(str(response.status_code), {})
    stated = resolved(case.operation.schema.raw_schema, described).get("headers", {})
    names = {name.lower() for name in stated} | USUAL_HEADERS
    assert {name.lower() for name in response.headers} <= names, f"{case.method} {case.path}"


CHECKS = [
    header_conformance, not_a_server_error, status_code_conformance, content_type_conformance,
    response_schema_conformance,
]  # fmt: skip
# Existing names; with other names, every response would be 404.
KNOWN = {
    "uuid": [provider_uuid(1), provider_uuid(2), provider_uuid(3)],
    "name": ["CUSTOM_A", "CUSTOM_B", "VCPU", "HW_CPU_X86_AVX2"],
    "resource_class": ["VCPU", "DISK_GB", "CUSTOM_A"],
    "consumer": [consumer_uuid(1), *(f"c0000000-0000-4000-8000-{n:012d}" for n in range(2))],
    "resources": ["VCPU:1", "VCPU:1,DISK_GB:2"],
    "required": ["HW_CPU_X86_AVX2", "!HW_CPU_X86_AVX2"],
    "member_of": [aggregate_uuid(1), f"in:{aggregate_uuid(1)},{aggregate_uuid(2)}"],
    "in_tree": [provider_uuid(1)],
    "subtree": [provider_uuid(1)],
    "root_member_of": [aggregate_uuid(1)],
    "can_split": ["VCPU"],
    "tolerate": ["HW_CPU_X86_AVX2"],
    "root_required": ["HW_CPU_X86_AVX2"],
    "limit": ["1", "5"],
    "marker": [provider_uuid(1)],
    "include": ["inventories,usages", "traits,aggregates,allocations"],
    "project_id": ["p"],
    "since": ["0" * 32],
}


# What valid documents consist of, as JSON.
_valid: set[str] = set()


def unvalidated(document: Any) -> Any:
    """Return a document without the operations and components that a valid document has.

    PERF: the validator takes seconds for a document, and two versions differ in a few parts.
    """

    def keep(groups: Any) -> Any:
        return {
            group: {name: part for name, part in parts.items() if json.dumps(part) not in _valid}
            for group, parts in groups.items()
        }

    made = {**document, "paths": keep(document["paths"])}
    components = keep(document["components"])
    names: set[tuple[str, str]] = set()
    while missing := set(re.findall(REFERENCE, json.dumps([made["paths"], components]))) - names:
        for kind, name in missing:
            components[kind][name] = document["components"][kind][name]
        names |= missing
    return {**made, "components": components}


@pytest.mark.parametrize("version", HISTORY, ids=str)
def test_the_document_of_each_version_is_valid_and_whole(version: Any) -> None:
    made = describe(version)
    validate(unvalidated(made))
    components = {(kind, name) for kind, parts in made["components"].items() for name in parts}
    assert set(re.findall(REFERENCE, json.dumps(made))) <= components
    for parts in (*made["paths"].values(), *made["components"].values()):
        _valid.update(map(json.dumps, parts.values()))
    described = {
        (method.upper(), path) for path, methods in made["paths"].items() for method in methods
    }
    assert described == {
        (method, path)
        for path, methods in OPERATIONS.items()
        for method, routes in methods.items()
        if version >= routes.since
    }
    # Generators name the objects within a schema by the schema and the property.
    schemas = made["components"]["schemas"]
    for title, schema in schemas.items():
        members = schema.get("properties", {}).items()
        inner = {name.title() for name, member in members if member.get("type") == "object"}
        assert not {title + name.replace("_", "") for name in inner} & schemas.keys()
    operations = [each for methods in made["paths"].values() for each in methods.values()]
    assert all(10 < len(each["summary"]) < 100 for each in operations)
    names = [each["operationId"] for each in operations]
    assert len(names) == len(set(names)) == sum(map(str.isidentifier, names))
    # Few languages have the lookaheads of Python and JavaScript.
    assert "(?" not in "".join(re.findall(r'"pattern": "[^"]*"', json.dumps(made)))


def query_of(version: str, path: str = "/allocation_candidates") -> dict[str, Any]:
    """Return the parameters of the query of a GET, by name."""
    parameters = describe(v(version))["paths"][path]["get"]["parameters"]
    return {each["name"]: each for each in parameters if each.get("in") == "query"}


def test_the_document_has_the_parameters_of_its_version_with_types_for_generators() -> None:
    assert set(query_of("1.10")) == {"resources"}
    assert set(query_of("1.16")) == {"resources", "limit"}
    assert "groups" not in query_of("1.24")
    parameters = query_of(str(LATEST))
    assert parameters.keys() >= {"same_subtree", "root_required", "in_tree", "groups"}
    assert parameters["limit"]["schema"] == {"type": "integer", "minimum": 1}
    assert parameters["group_policy"]["schema"]["enum"] == ["none", "isolate"]
    assert query_of(str(LATEST), "/traits")["associated"]["schema"] == {"type": "boolean"}


@pytest.mark.parametrize(
    ("version", "known"),
    [("1.25", {"resources1"}), ("1.39", {"resources1", "resources_A", "in_tree1"})],
)
def test_request_groups_are_a_parameter_that_is_many(version: str, known: set[str]) -> None:
    groups = query_of(version)["groups"]
    pattern = resolved(describe(v(version)), groups["schema"])["propertyNames"]["pattern"]
    names = {"resources", "resources1", "resources_A", "in_tree1", "limit1"}
    assert {name for name in names if re.search(pattern, name) and groups["explode"]} == known


def test_a_body_accepts_the_mappings_of_a_candidate() -> None:
    document = describe(v("2.0"))
    schema = document["components"]["schemas"]["RequestedAllocations"]["properties"]["mappings"]
    Draft202012Validator(schema).validate({"": [provider_uuid(1)], "_NIC": [provider_uuid(2)]})


def test_members_that_are_omitted_have_the_stated_defaults() -> None:
    members = describe(v("2.0"))["components"]["schemas"]["NewInventory"]["properties"].items()
    stated = {name: member["default"] for name, member in members if "default" in member}
    assert asdict(read_record({"total": 8})) == {"total": 8, **stated}


def resolved(document: Any, value: Any) -> Any:
    """Return the target of a reference within the document, or the value itself."""
    if "$ref" not in value:
        return value
    for step in value["$ref"].removeprefix("#/").split("/"):
        document = document[step]
    return document


def json_of(described: Any) -> Any:
    """Return the content of a request body or of a response."""
    return described["content"]["application/json"]


@pytest.mark.parametrize("version", HISTORY, ids=str)
def test_each_body_and_answer_has_an_example_of_its_schema(version: Any) -> None:
    document = describe(version)
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            described = [resolved(document, each) for each in operation["responses"].values()]
            bodies = [json_of(each) for each in described if "content" in each]
            if "requestBody" in operation:
                body = json_of(operation["requestBody"])
                schema = OPERATIONS[path][method.upper()].at(version).body_schema
                assert schema is not None
                schema.at(version).check(body["example"])
                bodies.append(body)
            for body in bodies:
                validator = Draft202012Validator({**document, **body["schema"]})
                validator.validate(body["example"])


@pytest.mark.parametrize("version", ["1.0", "1.39"])
def test_the_document_is_public_at_the_requested_version(application: Any, version: str) -> None:
    client = falcon.testing.TestClient(application)
    headers = {"OpenStack-API-Version": f"placement {version}"}
    answer = client.simulate_get("/openapi.json", headers=headers, root_path="/placement")
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["openstack-api-version"] == f"placement {version}"
    assert answer.json == {**describe(v(version)), "servers": [{"url": "/placement"}]}


def test_a_consumer_may_lack_its_project(application: Any) -> None:
    listed = Client(application).get("/consumers", "2.0")
    assert listed["consumers"][0]["project_id"] is None
    schema = {**describe(v("2.0")), "$ref": "#/components/schemas/Consumers"}
    Draft202012Validator(schema).validate(listed)


def test_the_document_of_any_version_is_printed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        config, "log_to_stderr", lambda _conf, **_of: None
    )  # for the tests that follow
    assert cli.main(["openapi"]) == 0
    assert json.loads(capsys.readouterr().out) == describe(LATEST)
    assert cli.main(["openapi", "--microversion", "1.12"]) == 0
    assert json.loads(capsys.readouterr().out) == describe(v("1.12"))
    assert cli.main(["openapi", "--microversion", "1.99"]) == 2
    assert "1.99" in capsys.readouterr().err


UUIDS = [
    provider_uuid(1),
    provider_uuid(2),
    provider_uuid(3),
    "c0000000-0000-4000-8000-000000000001",
]
CLASSES = ["VCPU", "DISK_GB", "CUSTOM_A"]


def with_known_names(schema: Any) -> Any:
    """Return the schema with some existing UUIDs and classes instead of all valid ones.

    Generating values that match long patterns is slow, and such values hardly ever exist.
    """
    if isinstance(schema, list):
        return [with_known_names(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    if schema.get("format") == UUID_LIKE["format"]:
        return {"enum": UUIDS}
    made = {key: with_known_names(value) for key, value in schema.items()}
    pattern = made.get("propertyNames", {}).get("pattern", "")
    if pattern == UUID_PATTERN or pattern.startswith("^[A-Z0-9_]"):
        names = UUIDS if pattern == UUID_PATTERN else CLASSES
        del made["propertyNames"]
        made["properties"] = dict.fromkeys(names, made["additionalProperties"])
        made["additionalProperties"] = False
    return made


@pytest.fixture(scope="module")
def application(tmp_path_factory: pytest.TempPathFactory) -> Any:
    made, database = make_database(tmp_path_factory.mktemp("walk"))
    with building(database.writer) as cloud:
        root = cloud.add("root", {"VCPU": 8}, aggregates=[aggregate_uuid(1)])
        cloud.add("child", {"VCPU": 8}, parent=root, traits=[KNOWN["name"][3]], claims={"VCPU": 1})
        cloud.add("disk", {"DISK_GB": 100}, aggregates=[aggregate_uuid(1)])
    with database.writer.begin() as conn:
        conn.execute(sa.delete(t.projects))  # rows that other programs have deleted
    return app.create_app(made, database)


@pytest.mark.parametrize("version", WALKED)
def test_no_walk_of_the_api_meets_what_the_document_does_not_tell(
    application: Any, version: str, capsys: pytest.CaptureFixture[str]
) -> None:
    schema = schemathesis.openapi.from_dict(with_known_names(describe(v(version))))
    schema.app = application
    headers = {
        "X-Auth-Token": "admin",
        "X-Roles": "admin,service",
        "OpenStack-API-Version": f"placement {version}",
    }
    answered: Counter[int] = Counter()
    for result in schema.get_all_operations():
        assert isinstance(result, Ok)
        operation = result.ok()

        @settings(
            max_examples=EXAMPLES,
            deadline=None,
            database=None,
            derandomize=EXAMPLES < 100,
            phases=[Phase.explicit, Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(case=operation.as_strategy())
        def walk(case: Any) -> None:
            pick = len(answered) + sum(answered.values())
            for given_values in (case.path_parameters, case.query):
                for name in set(given_values or {}) & KNOWN.keys() if pick % 4 else ():
                    given_values[name] = KNOWN[name][pick % len(KNOWN[name])]
            response = case.call(headers=headers)
            answered[response.status_code] += 1
            case.validate_response(response, checks=CHECKS)

        walk()
    with capsys.disabled():
        print(f"\nwalk at {version}: {dict(sorted(answered.items()))}")
    assert answered[200]
