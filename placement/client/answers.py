"""What a server answers to a request: a JSON value, or a refusal."""

from typing import Any

import requests

from placement.client.errors import RestError

CONFLICT = "placement.concurrent_update"  # somebody else has written since the generation was read


class RefusedError(RestError):
    """The server answered a request with an error.

    request: method and path. code: the server's error code, empty when it gave none. detail: what
    the server says, on one line.
    """

    def __init__(self, request: str, status: int, code: str, detail: str) -> None:
        self.request = request
        self.status = status
        self.code = code
        self.detail = detail
        super().__init__(f"{request} was refused with {status}: {detail}")

    @property
    def is_conflict(self) -> bool:
        """Whether somebody else was faster: the same may succeed after another look."""
        return self.code == CONFLICT


def refusal(request: str, answer: requests.Response) -> RefusedError:
    """Return the error that an answer of an error status tells; request: method and path."""
    error = error_object(answer)
    detail = str(error.get("detail") or answer.reason or "no reason given")
    code = str(error.get("code", ""))
    return RefusedError(request, answer.status_code, code, " ".join(detail.split()))


def error_object(answer: requests.Response) -> dict[str, Any]:
    """Return what an answer says of its error, nothing where it has no such form."""
    try:
        error = answer.json()["errors"][0]
    except (ValueError, LookupError, TypeError):
        return {}
    return error if isinstance(error, dict) else {}
