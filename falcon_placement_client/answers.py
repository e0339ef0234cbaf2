"""Responses of a server: JSON values or refusals."""

from typing import TYPE_CHECKING, Any

from falcon_placement_client.errors import RestError

if TYPE_CHECKING:
    # PERF: commands that do not send requests start faster without it.
    import requests

CONFLICT = "placement.concurrent_update"  # another client has written since the generation was read


class RefusedError(RestError):
    """The response to a request is an error."""

    #: The status of the response.
    status: int

    def __init__(self, request: str, status: int, code: str, detail: str, offer: str = "") -> None:
        #: Method and path, without the query.
        self.request = request
        #: The server's error code, or empty without a code.
        self.code = code
        #: The server's error message, in one line.
        self.detail = detail
        #: A text with the versions that the server supports, if it lists them.
        self.offer = offer
        #: Whether another client has written concurrently.
        self.is_conflict = code == CONFLICT
        super().__init__(f"{request} was refused with {status}: {detail}", status)


def refusal(request: str, answer: "requests.Response") -> RefusedError:
    """Return the error for a response with an error status. request: method and path."""
    error = _error_object(answer)
    detail = str(error.get("detail") or answer.reason or "no reason given")
    code = str(error.get("code", ""))
    offer = ""
    if "min_version" in error and "max_version" in error:
        offer = f"it offers {error['min_version']} to {error['max_version']}"
    return RefusedError(request, answer.status_code, code, " ".join(detail.split()), offer)


def _error_object(answer: "requests.Response") -> dict[str, Any]:
    """Return the error object of a response. Empty if the response contains none."""
    try:
        error = answer.json()["errors"][0]
    except (ValueError, LookupError, TypeError):
        return {}
    return error if isinstance(error, dict) else {}
