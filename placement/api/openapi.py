"""The OpenAPI document, which is generated from the declarations that the service uses.

There is one document for each microversion. It contains the routes, request schemas, parameters and
responses of that version.
"""

import inspect
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

import orjson

from placement import __version__
from placement.api import dry_run, problems, samples
from placement.api.candidate_requests.query_form import SUFFIX
from placement.api.components import Components, example_of
from placement.api.history import HEADER, HISTORY, Microversion, v
from placement.api.routes import OPERATIONS, Route
from placement.api.shapes import Fragment
from placement.api.tags import TAGGED

JSON = "application/json"

REASONS = {
    200: "Success.",
    201: "Created.",
    204: "Success, without a body.",
    304: "The client's copy is up to date.",
    400: "The request is malformed or names something unknown; `detail` says what.",
    401: "The token is missing or invalid.",
    403: "The policy does not allow this operation for the caller.",
    404: "The object does not exist, or the operation does not exist at this microversion.",
    405: "The method is not allowed at this microversion.",
    406: "The client does not accept JSON, or the microversion is not supported.",
    409: "The request conflicts with the present state. `code` distinguishes lost races, which can "
    "be retried, from other conflicts.",
    410: "The cursor has expired: list the resource providers again, and follow a new cursor.",
    413: "The body is too large.",
    414: "Path and query are too long.",
    415: "The body must be JSON.",
    503: "Temporarily unavailable: retry after `Retry-After` seconds. Without that header, an "
    "operator has to act.",
}

PATH_EXAMPLES = {
    "uuid": samples.PROVIDER,
    "consumer": samples.CONSUMER,
    "root": samples.PROVIDER,
    "name": samples.CUSTOM_CLASS,
    "resource_class": "VCPU",
}

ETAG = {
    "ETag": {
        "schema": {"type": "string"},
        "description": "A weak entity tag, which changes when the returned content changes.",
    }
}
LOCATION = {"Location": {"schema": {"type": "string"}, "description": "URL of the object."}}
# Status -> headers that errors with this status may have.
FAILURE_HEADERS = {
    401: {"WWW-Authenticate": {"schema": {"type": "string"}, "description": "Where tokens are."}},
    503: {"Retry-After": {"schema": {"type": "integer"}, "description": "Seconds to wait."}},
}
IF_NONE_MATCH = {
    "name": "If-None-Match",
    "in": "header",
    "description": "Entity tags of cached responses. If one is still valid, the status is 304.",
    "schema": {"type": "string"},
}

DESCRIPTION = """\
Placement stores the inventory of a cloud as trees of resource providers, and finds the providers \
that can serve a request.

Every operation takes a microversion in the header `OpenStack-API-Version`. This document \
describes one microversion; to get another one, request the document with that header."""


@lru_cache(maxsize=8)
def document(version: Microversion, mount: str = "") -> bytes:
    """Return the document as JSON. mount: prefix of all paths."""
    return orjson.dumps(describe(version, mount))


def describe(version: Microversion, mount: str = "") -> dict[str, Any]:
    """Return the document of one microversion. mount: prefix of all paths."""
    components = Components()
    error = components.add(problems.ERRORS)
    microversion = _header(version, components)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Placement",
            "version": str(version),
            "summary": f"Microversion {version}: {HISTORY[version]}",
            "description": DESCRIPTION,
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
            "x-service-version": __version__,
        },
        "servers": [{"url": mount or "/"}],
        "security": [{"token": []}],
        "paths": _paths(version, components),
        "components": {
            "schemas": components.schemas,
            "parameters": {"Microversion": microversion},
            "responses": {
                _failure_name(status): _failure(status, error, version)
                for status in REASONS
                if status >= 400
            },
            "securitySchemes": {
                "token": {"type": "apiKey", "in": "header", "name": "X-Auth-Token"}
            },
        },
    }


def _paths(version: Microversion, components: Components) -> dict[str, Any]:
    paths: dict[str, Any] = {}
    for path, methods in OPERATIONS.items():
        for method, routes in methods.items():
            if version >= routes.since:
                operation = _operation(routes.at(version), version, components)
                paths.setdefault(path, {})[method.lower()] = operation
    return paths


def _operation(route: Route, version: Microversion, components: Components) -> dict[str, Any]:
    # The docstring of the handler is the public description.
    summary, _blank, more = (inspect.getdoc(route.handler) or "").partition("\n\n")
    operation: dict[str, Any] = {
        "operationId": route.operation,
        "summary": " ".join(summary.split()).removesuffix("."),
        "tags": [route.handler.__module__.rpartition(".")[2]],
        "parameters": [
            *_path(route.path),
            {"$ref": "#/components/parameters/Microversion"},
            *_query(route, version, components),
            *([IF_NONE_MATCH] if _is_tagged(route, version) else []),
        ],
        "responses": _responses(route, version, components),
    }
    if route.public:
        operation["security"] = []
    else:
        more = f"{more}\n\nPolicy rule: `{route.rule}`.".lstrip()
    if more:
        operation["description"] = more
    if route.body_schema is not None:
        schema = route.body_schema.at(version).schema
        # Bodies of several operations already have a title.
        title = route.operation.title().replace("_", "")
        named = {"title": f"{title}Request", **schema}
        operation["requestBody"] = {"required": True, "content": _content(named, components)}
    return operation


def _is_tagged(route: Route, version: Microversion) -> bool:
    return route.tagged and TAGGED.at(version)


def _responses(
    route: Route, version: Microversion, components: Components
) -> Mapping[str, Mapping[str, Any]]:
    responses: dict[str, Mapping[str, Any]] = {}
    for status in route.response.statuses:
        responses[str(status)] = _success(route, status, version, components)
    if _is_tagged(route, version):
        responses["304"] = {"description": REASONS[304], "headers": ETAG}
    for status in sorted(_failures(route)):
        # All operations can fail with the same errors.
        responses[str(status)] = {"$ref": f"#/components/responses/{_failure_name(status)}"}
    return responses


def _content(schema: Fragment, components: Components) -> Mapping[str, Any]:
    return {JSON: {"schema": components.add(schema), "example": example_of(schema)}}


def _path(path: str) -> Iterable[Mapping[str, Any]]:
    for name in re.findall(r"{(\w+)}", path):
        yield {
            "name": name,
            "in": "path",
            "required": True,
            "schema": {"type": "string", "minLength": 1, "pattern": "^[^/]+$"},
            "example": PATH_EXAMPLES[name],
        }


def _header(version: Microversion, components: Components) -> Mapping[str, Any]:
    stated = f"placement {version}"
    schema = {"title": "Microversion", "type": "string", "enum": [stated], "default": stated}
    return {
        "name": HEADER,
        "in": "header",
        "required": version > v("1.0"),
        "description": "The microversion that this document describes.",
        "schema": components.add(schema),
    }


def _query(
    route: Route, version: Microversion, components: Components
) -> Iterable[Mapping[str, Any]]:
    suffixed: list[str] = []
    parameters = dry_run.PARAMETERS if route.has_dry_runs else route.parameters
    for name, parameter in (parameters or {}).items():
        if version < v(parameter.since):
            continue
        if parameter.suffixed:
            suffixed.append(name)
        yield {
            "name": name,
            "in": "query",
            "required": parameter.required,
            "description": parameter.about,
            "schema": parameter.schema,
        }
    # OpenAPI cannot declare parameters by a pattern, but it can declare properties by a pattern.
    if suffixed and SUFFIX.at(version):
        yield _groups(suffixed, SUFFIX.at(version), components)


def _groups(names: Iterable[str], suffix: str, components: Components) -> Mapping[str, Any]:
    """Return the parameters of suffixed request groups, as one object with arbitrary members."""
    keys = f"^({'|'.join(names)}){suffix.removesuffix('?')}$"
    schema = {
        "title": "RequestGroups",
        "type": "object",
        "propertyNames": {"type": "string", "pattern": keys},
        "additionalProperties": {"type": "string"},
    }
    return {
        "name": "groups",
        "in": "query",
        "style": "form",
        "explode": True,
        "description": "Further request groups: the same parameters, with a suffix that is common "
        "to a group. Each group is served by one provider.",
        "schema": components.add(schema),
        "example": {"resources_GPU": "VGPU:1", "required_GPU": samples.TRAIT},
    }


def _success(
    route: Route, status: int, version: Microversion, components: Components
) -> Mapping[str, Any]:
    headers = {
        **(ETAG if _is_tagged(route, version) else {}),
        **(LOCATION if route.response.has_location else {}),
        **(dry_run.RESPONSE_HEADER if route.has_dry_runs and dry_run.exists_at(version) else {}),
    }
    success: dict[str, Any] = {"description": REASONS[status], "headers": headers}
    if route.response.shape is not None:
        success["content"] = _content(route.response.shape.schema(version), components)
    return success


def _failures(route: Route) -> Iterable[int]:
    yield from (400, 406, 414, 503)
    if not route.public:
        yield from (401, 403)
    if "{" in route.path:
        yield 404
    yield from route.failures
    if route.body_schema is not None:
        yield from (413, 415)
    if route.method != "GET" and not route.reads:
        yield 409


def _failure_name(status: int) -> str:
    return problems.title(status).replace(" ", "").replace("-", "")


def _failure(status: int, error: Mapping[str, Any], version: Microversion) -> Mapping[str, Any]:
    example = problems.envelope(status, "What is wrong.", samples.REQUEST_ID, None)
    dry_runs = dry_run.RESPONSE_HEADER if dry_run.exists_at(version) else {}
    return {
        "description": REASONS[status],
        "headers": {**FAILURE_HEADERS.get(status, {}), **dry_runs},
        "content": {JSON: {"schema": error, "example": example}},
    }
