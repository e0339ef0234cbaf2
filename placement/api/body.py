"""Request bodies: bytes to checked values."""

from collections.abc import Mapping
from typing import Any

import orjson
from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError, best_match

from placement.errors import BadBody

LONGEST_VALUE = 120  # characters of a refused value that are repeated to the client


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
        self._validator = Draft202012Validator(schema)

    def check(self, value: Any) -> None:
        """Raise BadBody, naming the first wrong field and its value."""
        error = best_match(self._validator.iter_errors(value))
        if error is not None:
            raise BadBody(f"{_where(error)}: {_what(error)}")


def _where(error: ValidationError) -> str:
    path = ".".join(str(step) for step in error.absolute_path)
    return path or "body"


def _what(error: ValidationError) -> str:
    """The complaint, in one line of bounded length."""
    # A pattern's guard against a line feed at the end tells a client nothing.
    text = error.message.replace(r"(?!\\n)", "")
    shown = repr(error.instance)
    if len(shown) > LONGEST_VALUE:
        text = text.replace(shown, f"{shown[:LONGEST_VALUE]}…")
    return text if len(text) <= 4 * LONGEST_VALUE else f"{text[: 4 * LONGEST_VALUE]}…"
