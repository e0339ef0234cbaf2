"""What is wrong with a request for candidates, before any server has seen it."""

from falcon_placement_client.errors import ClientError

MAX_REPEATED = 80  # characters of a value in an error


class RequestError(ClientError, ValueError):
    """A request that cannot be made of what was written, or cannot be said to a server.

    key: the parameter, the key of a flavor, or the path of a member. The text begins with it.
    """

    def __init__(self, key: str, text: str) -> None:
        self.key = key
        super().__init__(f"{key}: {text}")


def bad_value(key: str, value: str, text: str) -> RequestError:
    """Return the error about a value, which it repeats, not too long."""
    repeated = value if len(value) <= MAX_REPEATED else f"{value[:MAX_REPEATED]}…"
    return RequestError(f"{key}={repeated}", text)


def path_of(*steps: str | int) -> str:
    """Return the path of a member as answers write it: `groups._NIC.required[0]`."""
    path = ""
    for step in steps:
        if isinstance(step, int):
            path += f"[{step}]"
        else:
            path += f".{step}" if step else '[""]'
    return path.removeprefix(".")
