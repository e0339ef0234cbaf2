"""Errors of candidate requests that the client detects before it sends them."""

from falcon_placement_client.errors import ClientError

MAX_REPEATED = 80  # maximum length of a value in an error, in characters


class RequestError(ClientError, ValueError):
    """A candidate request is malformed, or cannot be expressed for a server.

    Args:
        key: the parameter, the key of a flavor, or the path of a member; the text begins with it.
        text: description of the error.
    """

    def __init__(self, key: str, text: str) -> None:
        self.key = key
        super().__init__(f"{key}: {text}")


def bad_value(key: str, value: str, text: str) -> RequestError:
    """Return the error for a value, with an excerpt of limited length."""
    repeated = value if len(value) <= MAX_REPEATED else f"{value[:MAX_REPEATED]}…"
    return RequestError(f"{key}={repeated}", text)


def path_of(*steps: str | int) -> str:
    """Return the path of a member in the same form as in responses: `groups._NIC.required[0]`."""
    path = ""
    for step in steps:
        if isinstance(step, int):
            path += f"[{step}]"
        else:
            path += f".{step}" if step else '[""]'
    return path.removeprefix(".")
