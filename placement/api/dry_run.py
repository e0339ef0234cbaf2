"""Dry runs: writes with `dry_run=true` in the query are executed completely and rolled back."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from placement.api.history import HEADER as VERSION_HEADER
from placement.api.history import Microversion, v
from placement.api.parameters import Parameter, bad, last_values, pairs, split

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIEnvironment

    from placement.api.bodies import Schema
    from placement.api.history import Versioned

NAME = "dry_run"
HEADER = "Placement-Dry-Run"
READING_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})

PARAMETERS: Mapping[str, Parameter] = {
    NAME: Parameter(
        "2.0",
        "Respond as the write would, and change nothing.",
        {"type": "boolean", "default": False},
    )
}
RESPONSE_HEADER: Mapping[str, Mapping[str, object]] = {
    HEADER: {
        "schema": {"type": "string", "enum": ["true"], "examples": ["true"]},
        "description": "States that nothing was changed: the request was a dry run.",
    }
}


def exists_at(version: Microversion) -> bool:
    """Return whether writes of a version support dry runs."""
    return version >= v(PARAMETERS[NAME].since)


def parse(
    query_string: str, version: Microversion, body_schema: "Versioned[Schema] | None" = None
) -> bool:
    """Return whether the request is a dry run. A write has no other parameters.

    Args:
        query_string: the text after `?`.
        version: version of the request.
        body_schema: schema of the body, if the operation has one.

    Raises:
        BadQuery: the value is malformed, or a parameter is unknown or repeated. At versions without
            dry runs, only the parameter itself raises, because the write would not be a dry run.
    """
    if not query_string:
        return False
    if not exists_at(version):
        for key, value in split(query_string):
            if key == NAME:
                first = f"placement {PARAMETERS[NAME].since}"
                raise bad(key, value, f"dry runs need {VERSION_HEADER}: {first}")
        return False
    query = pairs(query_string)
    for key, value in query:
        if key != NAME:
            text = f"no such parameter: the body states the request, and a query only {NAME}"
            if body_schema is not None:
                schema = body_schema.at(version).schema
                if any(key in form.get("properties", ()) for form in schema.get("oneOf", [schema])):
                    text += f"; write it as the member {key} of the body"
            raise bad(key, value, text)
    values = last_values(query, PARAMETERS, version)
    if values.get(NAME, "false") not in {"true", "false"}:
        raise bad(NAME, values[NAME], "expected true or false")
    return values.get(NAME) == "true"


def is_requested(environ: "WSGIEnvironment") -> bool:
    """Return whether the query of a request contains a valid `dry_run=true`.

    The query is parsed leniently, because some requests are refused before it is parsed.
    """
    query_string = environ.get("QUERY_STRING", "")
    if not query_string or environ["REQUEST_METHOD"] in READING_METHODS:
        return False
    return [value for key, value in split(query_string) if key == NAME] == ["true"]
