"""Pieces of schemas that several nouns use."""

from collections.abc import Mapping
from typing import Any

Fragment = Mapping[str, Any]

# `$` alone would let a trailing newline pass.
END = r"$(?!\n)"

CLASS_NAME: Fragment = {"type": "string", "pattern": f"^[A-Z0-9_]+{END}", "maxLength": 255}
CUSTOM_NAME: Fragment = {"type": "string", "pattern": f"^CUSTOM_[A-Z0-9_]+{END}", "maxLength": 255}
UUID_KEY = rf"^[0-9a-fA-F-]{{36}}{END}"
GENERATION: Fragment = {"type": "integer"}
# No NUL: some databases cannot store it.
TEXT: Fragment = {"type": "string", "pattern": "^[^\\u0000]*$"}
OWNER: Fragment = {**TEXT, "minLength": 1, "maxLength": 255}
UUID_LIKE: Fragment = {
    "type": "string",
    "pattern": "^(urn:|uuid:|[{}])*([0-9a-fA-F][-{}]*){32}" + END,
    "maxLength": 64,
}


def closed(required: Mapping[str, Any], optional: Mapping[str, Any] | None = None) -> Fragment:
    """An object with these members and no others."""
    return {
        "type": "object",
        "properties": {**required, **(optional or {})},
        "required": sorted(required),
        "additionalProperties": False,
    }
