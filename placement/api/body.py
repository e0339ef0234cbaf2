"""Request bodies: bytes to checked values."""

import re
from collections.abc import Mapping
from typing import Any

import orjson
from jsonschema import Draft202012Validator, FormatChecker
from jsonschema.exceptions import ValidationError, best_match

from placement.errors import BadBody
from placement.objects import identifiers

LONGEST_VALUE = 120  # characters of a refused value that are repeated to the client

FORMATS = FormatChecker(formats=())


@FORMATS.checks("uuid")
def _is_uuid(value: object) -> bool:
    return not isinstance(value, str) or identifiers.canonical(value) is not None


def decode(raw: bytes) -> Any:
    """Read JSON; the last of duplicate keys wins.  Raises BadBody."""
    try:
        return orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        raise BadBody(f"The body is not valid JSON: {error}") from None


class Schema:
    """A JSON schema, checked and compiled when it is declared."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        Draft202012Validator.check_schema(schema)
        self.schema = schema
        self._validator = Draft202012Validator(schema, format_checker=FORMATS)

    def check(self, value: Any) -> None:
        """Raise BadBody, naming the first wrong field and its value."""
        error = best_match(self._validator.iter_errors(value))
        if error is not None:
            raise BadBody(f"JSON does not validate: {_where(error)}: {_what(error)}")


def _where(error: ValidationError) -> str:
    path = ".".join(str(step) for step in error.absolute_path)
    return path or "body"


def _what(error: ValidationError) -> str:
    """The complaint, in one line of bounded length."""
    schema: Any = error.schema
    instance: Any = error.instance
    if error.validator == "additionalProperties" and "patternProperties" in schema:
        (pattern,) = schema["patternProperties"]
        wrong = next(key for key in instance if not re.search(pattern, key))
        return f"{_short(repr(wrong))} is not {schema['propertyNames']['title']}"
    # A pattern's guard against a line feed at the end tells a client nothing.
    text = error.message.replace(r"(?!\\n)", "")
    shown = repr(instance)
    text = text.replace(shown, _short(shown))
    return text if len(text) <= 4 * LONGEST_VALUE else f"{text[: 4 * LONGEST_VALUE]}…"


def _short(text: str) -> str:
    return text if len(text) <= LONGEST_VALUE else f"{text[:LONGEST_VALUE]}…"
