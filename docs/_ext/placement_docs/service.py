"""A service in this process, and its responses."""

import io
import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import requests

from falcon_placement_client.loader import load_cloud
from tests.kit.listener import listening
from tests.kit.service import Service

ROOT = Path(__file__).parents[3]
WIDTH = 88  # of JSON on a page


@dataclass(frozen=True)
class Asked:
    """A service that is reachable over HTTP. url: its address, which responses do not contain."""

    url: str

    def send(self, method: str, path: str, body: Any, version: str) -> requests.Response:
        """Send a request as an administrator; a body that is not None as JSON."""
        headers = {
            "X-Auth-Token": "admin",
            "X-Roles": "admin,service",
            "OpenStack-API-Version": f"placement {version}",
        }
        return requests.request(method, self.url + path, json=body, headers=headers, timeout=60)


@contextmanager
def service(cloud: Path) -> Iterator[Asked]:
    """Start a service on a new database, with the cloud of a file.  Raises RuntimeError."""
    out = io.StringIO()
    with (
        tempfile.TemporaryDirectory(prefix="docs-") as directory,
        Service(Path(directory)) as made,
        listening(made.application) as url,
    ):
        if load_cloud(str(cloud), url, "admin", out=out):
            raise RuntimeError(out.getvalue())
        yield Asked(url)


def pretty(value: Any) -> str:
    """Return JSON in a readable form, with short values on one line."""
    return _pretty(value, "", 0)


def _pretty(value: Any, indent: str, taken: int) -> str:
    short = json.dumps(value, ensure_ascii=False)
    if len(indent) + taken + len(short) <= WIDTH or not isinstance(value, dict | list) or not value:
        return short
    deeper = f"{indent}  "
    if isinstance(value, list):
        items = [f"{deeper}{_pretty(each, deeper, 1)}" for each in value]
        return "[\n" + ",\n".join(items) + f"\n{indent}]"
    items = [
        f"{deeper}{json.dumps(key)}: {_pretty(each, deeper, len(key) + 5)}"
        for key, each in value.items()
    ]
    return "{\n" + ",\n".join(items) + f"\n{indent}" + "}"
