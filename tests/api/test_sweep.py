"""At every version, each operation has exactly one handler, schema, form of response and rule."""

from __future__ import annotations

import falcon.testing
import pytest

from placement.api.candidate_requests.query_form import GROUP_PARAMETERS
from placement.api.history import HISTORY, Microversion, v
from placement.api.operations import inventories, root, traits
from placement.api.parameters import Parameter
from placement.api.routes import OPERATIONS, ROUTES, Route, operations
from placement.api.shapes import CREATED, View
from tests.kit.builders import make_app

# The first version of each operation, and the answer below it.
FIRST = {
    ("GET", "/"): ("1.0", None),
    ("GET", "/healthcheck"): ("1.0", None),
    ("GET", "/openapi.json"): ("1.0", None),
    ("GET", "/resource_providers"): ("1.0", None),
    ("POST", "/resource_providers"): ("1.0", None),
    ("GET", "/resource_providers/{uuid}"): ("1.0", None),
    ("PUT", "/resource_providers/{uuid}"): ("1.0", None),
    ("DELETE", "/resource_providers/{uuid}"): ("1.0", None),
    ("GET", "/resource_providers/{uuid}/inventories"): ("1.0", None),
    ("POST", "/resource_providers/{uuid}/inventories"): ("1.0", None),
    ("PUT", "/resource_providers/{uuid}/inventories"): ("1.0", None),
    ("DELETE", "/resource_providers/{uuid}/inventories"): ("1.5", 405),
    ("GET", "/resource_providers/{uuid}/inventories/{resource_class}"): ("1.0", None),
    ("PUT", "/resource_providers/{uuid}/inventories/{resource_class}"): ("1.0", None),
    ("DELETE", "/resource_providers/{uuid}/inventories/{resource_class}"): ("1.0", None),
    ("GET", "/resource_providers/{uuid}/usages"): ("1.0", None),
    ("GET", "/resource_providers/{uuid}/rollup"): ("2.0", 404),
    ("GET", "/resource_providers/{uuid}/allocations"): ("1.0", None),
    ("GET", "/resource_providers/{uuid}/aggregates"): ("1.1", 404),
    ("PUT", "/resource_providers/{uuid}/aggregates"): ("1.1", 404),
    ("GET", "/resource_providers/{uuid}/traits"): ("1.6", 404),
    ("PUT", "/resource_providers/{uuid}/traits"): ("1.6", 404),
    ("DELETE", "/resource_providers/{uuid}/traits"): ("1.6", 404),
    ("GET", "/allocations"): ("2.0", 405),
    ("GET", "/allocations/{consumer}"): ("1.0", None),
    ("PUT", "/allocations/{consumer}"): ("1.0", None),
    ("DELETE", "/allocations/{consumer}"): ("1.0", None),
    ("POST", "/allocations"): ("1.13", 404),
    ("GET", "/consumers"): ("2.0", 404),
    ("GET", "/consumers/{consumer}"): ("2.0", 404),
    ("PUT", "/consumers/{consumer}/request"): ("2.0", 404),
    ("PUT", "/consumers/{consumer}/spread_group"): ("2.0", 404),
    ("PUT", "/holds/{consumer}"): ("2.0", 404),
    ("DELETE", "/holds/{consumer}"): ("2.0", 404),
    ("GET", "/resource_classes"): ("1.2", 404),
    ("POST", "/resource_classes"): ("1.2", 404),
    ("GET", "/resource_classes/{name}"): ("1.2", 404),
    ("PUT", "/resource_classes/{name}"): ("1.2", 404),
    ("DELETE", "/resource_classes/{name}"): ("1.2", 404),
    ("GET", "/traits"): ("1.6", 404),
    ("GET", "/traits/{name}"): ("1.6", 404),
    ("PUT", "/traits/{name}"): ("1.6", 404),
    ("DELETE", "/traits/{name}"): ("1.6", 404),
    ("GET", "/usages"): ("1.9", 404),
    ("GET", "/allocation_candidates"): ("1.10", 404),
    ("POST", "/allocation_candidates"): ("2.0", 405),
    ("POST", "/claims"): ("2.0", 404),
    ("GET", "/changes"): ("2.0", 404),
    ("POST", "/headroom"): ("2.0", 404),
    ("GET", "/provider_trees/{root}"): ("2.0", 404),
    ("PUT", "/provider_trees/{root}"): ("2.0", 404),
    ("POST", "/simulations"): ("2.0", 404),
    ("POST", "/reshaper"): ("1.30", 404),
}

EACH = [(method, path) for path, methods in OPERATIONS.items() for method in methods]


def around(*since: str) -> list[Microversion]:
    """Return these versions, those before them, and the first and the last of each line."""
    versions = list(HISTORY)
    places = {0, len(versions) - 2, len(versions) - 1}
    for each in map(versions.index, map(v, since)):
        places |= {max(each - 1, 0), each}
    return [versions[place] for place in sorted(places)]


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> falcon.testing.TestClient:
    return falcon.testing.TestClient(make_app(tmp_path_factory.mktemp("sweep")))


def headers(version: Microversion, **more: str) -> dict[str, str]:
    return {
        "X-Auth-Token": "admin",
        "X-Roles": "admin,service",
        "OpenStack-API-Version": f"placement {version}",
        **more,
    }


def concrete(path: str) -> str:
    return path.format(
        uuid="00000000-0000-4000-8000-000000000001",
        consumer="c0000000-0000-4000-8000-000000000001",
        name="CUSTOM_NOBODY_HAS",
        resource_class="VCPU",
        root="00000000-0000-4000-8000-000000000001",
    )


def test_the_operations_equal_the_contract() -> None:
    declared = {
        (method, path): str(routes.since)
        for path, methods in OPERATIONS.items()
        for method, routes in methods.items()
    }
    assert declared == {operation: since for operation, (since, _below) in FIRST.items()}


@pytest.mark.parametrize(("method", "path"), EACH)
def test_each_version_has_one_handler_schema_rule_and_form(method: str, path: str) -> None:
    routes = OPERATIONS[path][method]
    for version in HISTORY:
        if version < routes.since:
            with pytest.raises(LookupError):
                routes.at(version)
            continue
        route = routes.at(version)
        assert callable(route.handler)
        assert route.public or route.rule
        if route.body_schema is not None:
            assert route.body_schema.at(version).schema
        if route.response.shape is None:
            assert 200 not in route.response.statuses
        else:
            assert route.response.shape.schema(version)["title"]
            assert callable(route.response.shape.renderer(View(version)))
        if path.endswith("/inventories") and method == "PUT":
            assert inventories.MIN_CAPACITY.at(version) is not None


@pytest.mark.parametrize(("method", "path"), EACH)
def test_each_version_is_served_or_refused_as_the_contract_says(
    client: falcon.testing.TestClient, method: str, path: str
) -> None:
    since, below = FIRST[method, path]
    body = b"{}" if method in {"POST", "PUT"} else None
    for version in around(since):
        answer = client.simulate_request(
            method,
            concrete(path),
            body=body,
            headers=headers(version, **{"Content-Type": "application/json"}),
        )
        assert answer.status_code < 500
        assert answer.headers["openstack-api-version"] == f"placement {version}"
        if version < v(since):
            assert answer.status_code == below
            if version.major < v(since).major:
                allowed = answer.headers.get("allow", "")
                assert method not in allowed.split(", ")
                assert bool(allowed) == (below == 405)
                continue
            assert f"{method} {path} exists from microversion {since} on" in answer.text
        else:
            assert answer.status_code != 405
            assert "exists from microversion" not in answer.text


@pytest.mark.parametrize(("method", "path"), EACH)
def test_no_query_is_ignored_at_2_0(
    client: falcon.testing.TestClient, method: str, path: str
) -> None:
    stated = headers(v("2.0"), **{"Content-Type": "application/json"})
    answer = client.simulate_request(
        method, concrete(path), query_string="unheard=of", body=b"{}", headers=stated
    )
    assert answer.status_code == 400
    assert answer.json["errors"][0]["detail"].startswith("unheard='of': no such parameter")


@pytest.mark.parametrize("path", OPERATIONS)
def test_other_methods_are_refused_with_the_allowed_ones(
    client: falcon.testing.TestClient, path: str
) -> None:
    others = {"GET", "PUT", "POST", "DELETE", "PATCH", "HEAD", "OPTIONS"} - OPERATIONS[path].keys()
    for method in sorted(others):
        for version in (v("1.0"), max(HISTORY)):
            answer = client.simulate_request(method, concrete(path), headers=headers(version))
            known = {
                name
                for name, routes in OPERATIONS[path].items()
                if routes.since.major <= version.major
            }
            # A path of a later line is no path at all.
            assert answer.status_code == (405 if known else 404)
            assert set(answer.headers.get("allow", "").split(", ")) == (known or {""})


def _parameters() -> list[tuple[Route, str, Parameter]]:
    return [
        (route, name, parameter)
        for route in ROUTES
        for name, parameter in (route.parameters or {}).items()
    ]


VALUES = {
    "limit": "1",
    "group_policy": "none",
    "same_subtree": "1",
    "isolate": "1",
    "explain": "summary",
    "can_split": "VCPU",
    "tolerate": "HW_CPU_X86_AVX2",
    "associated": "true",
    "name": "in:X",
    "resources": "VCPU:1",
    "required": "HW_CPU_X86_AVX2",
    "root_required": "HW_CPU_X86_AVX2",
    "member_of": "a0000000-0000-4000-8000-000000000001",
    "subtree": "a0000000-0000-4000-8000-000000000001",
    "root_member_of": "a0000000-0000-4000-8000-000000000001",
    "in_tree": "a0000000-0000-4000-8000-000000000001",
    "uuid": "a0000000-0000-4000-8000-000000000001",
    "project_id": "p",
    "user_id": "u",
    "marker": "a0000000-0000-4000-8000-000000000001",
    "include": "allocations",
    "consumer_type": "unknown",
    "held": "true",
    "spread_group": "g",
    "since": "",  # a cursor of the service
}
NEEDED = {
    "/usages": {"project_id": "p"},
    "/allocation_candidates": {"resources": "VCPU:1"},
    "/allocations": {"in_tree": "a0000000-0000-4000-8000-000000000001"},
    "/consumers": {"project_id": "p"},
}


@pytest.mark.parametrize(("route", "name", "parameter"), _parameters())
def test_each_parameter_is_known_from_its_version_on(
    client: falcon.testing.TestClient, route: Route, name: str, parameter: Parameter
) -> None:
    path = concrete(route.path)
    if "{uuid}" in route.path:
        body = {"name": "swept", "uuid": path.split("/")[2]}
        client.simulate_post("/resource_providers", json=body, headers=headers(v("1.0")))
    for version in around(route.since, parameter.since, "1.25"):
        if version < v(route.since):
            continue
        params = {**NEEDED.get(route.path, {}), name: VALUES[name]}
        if name == "since":
            params[name] = client.simulate_get(path, headers=headers(version)).json["cursor"]
        if name in {"same_subtree", "isolate"}:
            params["resources1"] = "VCPU:1"
        answer = client.simulate_get(path, params=params, headers=headers(version))
        if route.path == "/consumers/{consumer}":
            assert answer.status_code == 404, (
                answer.text
            )  # no such consumer, the parameter is known
            continue
        known = version >= v(parameter.since)
        if name == "same_subtree" and version < v("1.25"):
            continue  # there are no groups to name yet
        assert answer.status_code == (200 if known else 400), answer.text
        assert known or name in answer.text
        if version == v("2.0"):
            twice = {**params, name: [params[name], params[name]]}
            answer = client.simulate_get(path, params=twice, headers=headers(version))
            assert answer.status_code == (200 if parameter.repeatable else 400), answer.text
            assert parameter.repeatable or f"{name}: this parameter may be given" in answer.text


@pytest.mark.parametrize("name", GROUP_PARAMETERS)
def test_each_group_parameter_takes_a_suffix_from_its_version_on(
    client: falcon.testing.TestClient, name: str
) -> None:
    suffixes = {"1": "1.25", "9999": "1.25", "0": "1.33", "01": "1.33", "_A": "1.33", "-": "1.33"}
    since = next(each for _route, key, each in _parameters() if key == name and each.suffixed).since
    for suffix, first in suffixes.items():
        for version in around(first, since):
            if version < v("1.10"):
                continue
            params = {f"resources{suffix}": "VCPU:1", name + suffix: VALUES[name]}
            answer = client.simulate_get(
                "/allocation_candidates", params=params, headers=headers(version)
            )
            expected = 200 if version >= max(v(first), v(since)) else 400
            assert answer.status_code == expected, answer.text


def test_a_route_that_is_declared_twice_for_a_version_fails_when_declared() -> None:
    route = ROUTES[0]
    with pytest.raises(ValueError, match="declared twice"):
        operations([route, route])


def test_routes_out_of_order_fail_when_declared() -> None:
    later = Route("GET", "/x", root.list_versions, "1.5", "rule", CREATED)
    earlier = Route("GET", "/x", traits.list_traits, "1.2", "rule", CREATED)
    with pytest.raises(ValueError, match="order"):
        operations([later, earlier])


def test_a_schema_that_begins_after_its_route_fails_when_declared() -> None:
    tables = [route.body_schema for route in ROUTES if route.body_schema]
    late = next(table for table in tables if str(table.since) == "1.30")
    with pytest.raises(ValueError, match=r"no schema before 1\.30"):
        Route("POST", "/x", root.list_versions, "1.0", "rule", CREATED, late)


def test_a_parameter_of_an_unknown_version_fails_when_declared() -> None:
    with pytest.raises(ValueError, match="no such microversion"):
        Parameter("1.99", "Nothing.")
