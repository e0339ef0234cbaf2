"""The API as an OpenAPI document, made of the declarations that serve it: routes, schemas,
parameters, answers. One document for each microversion."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from placement.api import answers
from placement.api.history import HISTORY, v
from placement.api.microversion import HEADER, Microversion
from placement.api.query import Parameter
from placement.api.query.candidates import SUFFIX
from placement.api.routes import OPERATIONS, Route

ERROR = {"$ref": "#/components/schemas/Error"}
JSON = "application/json"
REASONS = {
    200: "Done; the answer shows what is there now.",
    201: "Created.",
    204: "Done.",
    400: "The request cannot be right: detail names the field.",
    401: "A token is needed, or a valid one.",
    403: "The policy does not allow this to the caller.",
    404: "There is no such object, or not at this microversion.",
    405: "The method is not allowed at this microversion.",
    406: "The answer would be JSON, or the microversion is not served.",
    409: "The present state does not allow it: code tells a lost race from a refusal.",
    413: "The body is too large.",
    414: "Path and query are too long.",
    415: "The body must be JSON.",
    503: "Try again after Retry-After seconds; without it, an operator has to act.",
}


def document(version: Microversion) -> dict[str, Any]:
    """The whole API as one microversion has it."""
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Placement",
            "version": str(version),
            "summary": HISTORY[version],
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "security": [{"token": []}],
        "paths": {
            path: operations
            for path, methods in OPERATIONS.items()
            if (
                operations := {
                    method.lower(): _operation(routes.at(version), version)
                    for method, routes in methods.items()
                    if version >= routes.since
                }
            )
        },
        "components": {
            "schemas": {"Error": answers.ERROR},
            "securitySchemes": {
                "token": {"type": "apiKey", "in": "header", "name": "X-Auth-Token"}
            },
        },
    }


def _operation(route: Route, version: Microversion) -> dict[str, Any]:
    noun = route.handler.__module__.rpartition(".")[2]
    made: dict[str, Any] = {
        "operationId": f"{noun}.{route.handler.__name__}",
        "summary": (route.handler.__doc__ or "").partition("\n")[0],
        "tags": [noun],
        "parameters": [*_path(route.path), _header(version), *_query(route, version)],
        "responses": {
            **{str(status): _success(route, status, version) for status in route.success},
            **{str(status): _failure(status) for status in _failures(route, version)},
        },
    }
    if route.rule is None:
        made["security"] = []
    else:
        made["description"] = f"Policy rule: `{route.rule}`."
    if route.body_schema is not None:
        made["requestBody"] = {
            "required": True,
            "content": {JSON: {"schema": route.body_schema.at(version).schema}},
        }
    return made


def _path(path: str) -> Iterable[Mapping[str, Any]]:
    for name in re.findall(r"{(\w+)}", path):
        schema = {"type": "string", "minLength": 1, "pattern": "^[^/]+$"}
        yield {"name": name, "in": "path", "required": True, "schema": schema}


def _header(version: Microversion) -> Mapping[str, Any]:
    schema = {"type": "string", "const": f"placement {version}"}
    return {"name": HEADER, "in": "header", "required": version > v("1.0"), "schema": schema}


def _query(route: Route, version: Microversion) -> Iterable[Mapping[str, Any]]:
    for name, parameter in (route.parameters or {}).items():
        if version >= v(parameter.since):
            yield {
                "name": name,
                "in": "query",
                "required": parameter.required,
                "description": _about(parameter, version),
                "schema": {
                    "type": "string",
                    **({"pattern": parameter.pattern} if parameter.pattern else {}),
                },
            }


def _about(parameter: Parameter, version: Microversion) -> str:
    suffix = SUFFIX.at(version) if parameter.suffixed else ""
    if not suffix:
        return parameter.about
    return f"{parameter.about} With a suffix ({suffix}) it belongs to a further request group."


def _success(route: Route, status: int, version: Microversion) -> Mapping[str, Any]:
    answer: dict[str, Any] = {"description": REASONS[status]}
    if route.answer is not None and status != 204:
        answer["content"] = {JSON: {"schema": route.answer.at(version)}}
    return answer


def _failures(route: Route, version: Microversion) -> Iterable[int]:
    yield from (400, 406, 414, 503)
    if route.rule is not None:
        yield from (401, 403)
    if "{" in route.path:
        yield 404
    if route.body_schema is not None:
        yield from (413, 415)
    if route.method != "GET":
        yield 409


def _failure(status: int) -> Mapping[str, Any]:
    return {"description": REASONS[status], "content": {JSON: {"schema": ERROR}}}
