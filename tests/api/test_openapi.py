"""The document of the API, and a walk of the API by it.

`make test` walks a little. The long walk has so many examples of each operation and version:
``PLACEMENT_WALK=500 pytest tests/api/test_openapi.py``.
"""

from __future__ import annotations

import os
from collections import Counter
from typing import Any

import pytest
import schemathesis
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

from placement import app
from placement.api.history import HISTORY, v
from placement.api.openapi import document
from placement.api.request_schemas.common import UUID_KEY, UUID_LIKE
from placement.api.routes import OPERATIONS
from tests.kit.builders import make_database
from tests.kit.cloud import aggregate_uuid, building, provider_uuid

EXAMPLES = int(os.environ.get("PLACEMENT_WALK", "3"))
WALKED = ("1.0", "1.12", "1.28", "1.39")
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]
# Names that there are, so that the walk meets more than 404.
KNOWN = {
    "uuid": [provider_uuid(1), provider_uuid(2), provider_uuid(3)],
    "name": ["CUSTOM_A", "CUSTOM_B", "VCPU", "HW_CPU_X86_AVX2"],
    "resource_class": ["VCPU", "DISK_GB", "CUSTOM_A"],
    "consumer": [f"c0000000-0000-4000-8000-{n:012d}" for n in range(3)],
    "resources": ["VCPU:1", "VCPU:1,DISK_GB:2"],
    "required": ["HW_CPU_X86_AVX2", "!HW_CPU_X86_AVX2"],
    "member_of": [aggregate_uuid(1), f"in:{aggregate_uuid(1)},{aggregate_uuid(2)}"],
    "in_tree": [provider_uuid(1)],
    "root_required": ["HW_CPU_X86_AVX2"],
    "limit": ["1", "5"],
    "project_id": ["p"],
}


@pytest.mark.parametrize("version", HISTORY, ids=str)
def test_the_document_of_each_version_is_valid_and_whole(version: Any) -> None:
    made = document(version)
    validate(made)
    described = {
        (method.upper(), path) for path, methods in made["paths"].items() for method in methods
    }
    assert described == {
        (method, path)
        for path, methods in OPERATIONS.items()
        for method, routes in methods.items()
        if version >= routes.since
    }
    names = [each["operationId"] for path in made["paths"].values() for each in path.values()]
    assert len(names) == len(set(names))


def test_the_document_is_made_of_the_declarations() -> None:
    parameters = {
        version: {
            each["name"]
            for each in document(v(version))["paths"]["/allocation_candidates"]["get"]["parameters"]
            if each["in"] == "query"
        }
        for version in ("1.10", "1.16", "1.39")
    }
    assert parameters["1.10"] == {"resources"}
    assert parameters["1.16"] == {"resources", "limit"}
    assert parameters["1.39"] >= {"same_subtree", "root_required", "in_tree", "group_policy"}
    put = document(v("1.12"))["paths"]["/allocations/{consumer}"]["put"]
    assert set(put["requestBody"]["content"]["application/json"]["schema"]["properties"]) == {
        "allocations", "project_id", "user_id"
    }  # fmt: skip
    Draft202012Validator.check_schema(
        put["responses"]["400"]["content"]["application/json"]["schema"]
    )


UUIDS = [
    provider_uuid(1),
    provider_uuid(2),
    provider_uuid(3),
    "c0000000-0000-4000-8000-000000000001",
]
CLASSES = ["VCPU", "DISK_GB", "CUSTOM_A"]


def with_known_names(schema: Any) -> Any:
    """The schema with some UUIDs and classes that there are in place of all that may be.

    Values that match long patterns are slow to make, and hardly ever name anything.
    """
    if isinstance(schema, list):
        return [with_known_names(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    if schema.get("format") == UUID_LIKE["format"]:
        return {"enum": UUIDS}
    made = {key: with_known_names(value) for key, value in schema.items()}
    for pattern, value in made.pop("patternProperties", {}).items():
        if pattern == UUID_KEY or pattern.startswith("^[A-Z0-9_]"):
            names = UUIDS if pattern == UUID_KEY else CLASSES
            made["properties"] = dict.fromkeys(names, value)
    return made


@pytest.fixture(scope="module")
def application(tmp_path_factory: pytest.TempPathFactory) -> Any:
    made, database = make_database(tmp_path_factory.mktemp("walk"))
    with building(database.writer) as cloud:
        root = cloud.add("root", {"VCPU": 8}, aggregates=[aggregate_uuid(1)])
        cloud.add("child", {"VCPU": 8}, parent=root, traits=["HW_CPU_X86_AVX2"])
        cloud.add("disk", {"DISK_GB": 100}, aggregates=[aggregate_uuid(1)])
    return app.create_app(made, database)


@pytest.mark.parametrize("version", WALKED)
def test_no_walk_of_the_api_meets_what_the_document_does_not_tell(
    application: Any, version: str, capsys: pytest.CaptureFixture[str]
) -> None:
    schema = schemathesis.openapi.from_dict(with_known_names(document(v(version))))
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
