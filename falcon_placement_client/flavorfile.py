"""Files of named requests. A YAML mapping assigns a flavor or a request to each name.

A request contains the member `groups`. Every other value is a flavor, which is a mapping of keys to
values.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from falcon_placement_client import flavors
from falcon_placement_client.errors import RequestError
from falcon_placement_client.json_request import JsonRequest
from falcon_placement_client.yamlfile import document
from falcon_placement_client.yamlfile.problems import UnusableFile


def read_requests(path: Path) -> dict[str, JsonRequest]:
    """Return name -> request, from a file.  Raises RequestError."""
    try:
        content = document.read(path).value
    except UnusableFile as error:
        where, _colon, text = str(error).partition(": ")  # the file and the line
        raise RequestError(where, text) from None
    if not isinstance(content, dict) or not content:
        raise RequestError(str(path), "expected a mapping of names to flavors or requests")
    return {str(name): _request(f"{path}: {name}", value) for name, value in content.items()}


def _request(where: str, value: Any) -> JsonRequest:
    if not isinstance(value, Mapping):
        raise RequestError(where, "expected a flavor or a request")
    if "groups" in value:
        return cast("JsonRequest", dict(value))
    flavor = {str(key): each if isinstance(each, int) else str(each) for key, each in value.items()}
    try:
        return flavors.request_of_flavor(flavor)
    except RequestError as error:
        raise RequestError(where, str(error)) from None
