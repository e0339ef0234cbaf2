"""Fixtures of the gabbits: the service of a file, and its cloud.

A gabbit names one fixture. ``ModelingInTreeCloud`` is the cloud drawn in
``gabbits/clouds/modeling-in-tree.yaml``, and so on for every file there; ``EmptyDatabase`` is
a service without providers.

Each file gets its own service, in this process and on a new SQLite database. With
``PLACEMENT_URL`` set the same tests go to that server instead. It must have no providers,
except leftovers of an interrupted run of the gabbits. After each file its providers, and
the classes and traits that it created, are deleted.
"""

from __future__ import annotations

import functools
import io
import os
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from socketserver import TCPServer
from typing import TYPE_CHECKING, Any, ClassVar
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

import requests
import yaml
from gabbi.fixture import GabbiFixture

from falcon_placement_client.loader import load_cloud
from placement.api.history import LATEST

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

GABBITS = Path(__file__).resolve().parents[2] / "gabbits"
CLOUDS = GABBITS / "clouds"
TOKEN = "admin"
LIVE_URL = os.environ.get("PLACEMENT_URL", "").rstrip("/")

# Providers of the gabbits have readable UUIDs, unlike real providers. This distinguishes leftovers
# of an interrupted run from providers in use.
OWN_UUIDS = "00000000-0000-0000-0000-"

# Group -> option -> value.
Options = Mapping[str, Mapping[str, object]]

# Cloud file -> options of the service that the gabbits on it are about. A server with another URL
# has to have them.
OPTIONS: Mapping[str, Options] = {
    "exclusive-cards": {"placement": {"exclusive": ["CUSTOM_CARD"]}},
    "ordered-hosts": {
        "placement": {
            "order": '[{"by": "free", "resource_class": "CUSTOM_UNKNOWN", "first": "most"},'
            '{"by": "free", "resource_class": "VCPU", "first": "most"}]'
        }
    },
    "tainted-hosts": {"placement": {"taints": ["CUSTOM_MAINTENANCE", "CUSTOM_DEDICATED"]}},
}


class LocalService:
    """A port of this machine. The application that was installed last serves it."""

    def __init__(self) -> None:
        self.application: WSGIApplication | None = None
        server = make_server("127.0.0.1", 0, self._answer, _LocalServer, _SilentHandler)
        self.url = f"http://127.0.0.1:{server.server_port}"
        threading.Thread(target=server.serve_forever, daemon=True, name="gabbits").start()

    def answer_here(
        self, environ: WSGIEnvironment, start_response: StartResponse
    ) -> Iterable[bytes]:
        """Respond to a request of gabbi's client, which does not encode paths as WSGI does."""
        environ["PATH_INFO"] = environ["PATH_INFO"].encode().decode("latin-1")
        heads: list[tuple[str, dict[str, str]]] = []

        def start(status: str, headers: list[tuple[str, str]], *error: Any) -> Any:
            heads.append((status, {name.lower(): value for name, value in headers}))
            return start_response(status, headers, *error)

        body = b"".join(self._answer(environ, start))
        status, headers = heads[-1]
        # Without a connection, the client does not notice a wrong length.
        if environ["REQUEST_METHOD"] != "HEAD":
            assert int(headers.get("content-length", len(body))) == len(body)
        assert not (status.startswith(("204", "304")) and body)
        return [body]

    def _answer(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        if self.application is None:
            raise RuntimeError("this gabbit names no fixture, so there is no service to ask")
        return self.application(environ, start_response)


class _LocalServer(WSGIServer):
    request_queue_size = 64

    def server_bind(self) -> None:
        # The inherited method looks up the name of this machine, which can take seconds.
        TCPServer.server_bind(self)
        self.server_name, self.server_port = "127.0.0.1", self.server_address[1]
        self.setup_environ()


class _SilentHandler(WSGIRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        pass


@functools.cache
def local_service() -> LocalService:
    return LocalService()


def local_application() -> WSGIApplication:
    """Return the application that responds to gabbits without a connection."""
    return local_service().answer_here


def service_url() -> str:
    """Return the URL to which all gabbits of this run send their requests."""
    return LIVE_URL or local_service().url


class EmptyDatabase(GabbiFixture):  # type: ignore[misc]
    """A service with the standard classes and traits, and without providers."""

    cloud: ClassVar[Path | None] = None
    options: ClassVar[Options] = {}

    def start_fixture(self) -> None:
        self._undo: Callable[[], None] = self._start_live() if LIVE_URL else self._start_local()
        if self.cloud:
            out = io.StringIO()
            if load_cloud(str(self.cloud), service_url(), TOKEN, out=out):
                self._undo()
                raise RuntimeError(out.getvalue())

    def stop_fixture(self) -> None:
        self._undo()

    def _start_live(self) -> Callable[[], None]:
        server = LiveServer(LIVE_URL)
        server.sweep(OWN_UUIDS)
        before = server.names()

        def undo() -> None:
            server.sweep()
            server.delete(server.names() - before)

        return undo

    def _start_local(self) -> Callable[[], None]:
        from tests.kit.builders import make_app

        directory = tempfile.TemporaryDirectory(prefix="gabbits-")
        local_service().application = make_app(Path(directory.name), **self.options)
        return directory.cleanup


class LiveServer:
    """A server that runs outside of the tests."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._session = requests.Session()
        self._session.headers.update(
            {"x-auth-token": TOKEN, "openstack-api-version": f"placement {LATEST}"}
        )

    def sweep(self, prefix: str = "") -> None:
        """Delete all providers. Fail if the UUID of a provider does not have the prefix."""
        providers = self._get("/resource_providers")["resource_providers"]
        strangers = [p["name"] for p in providers if not p["uuid"].startswith(prefix)]
        if strangers:
            raise RuntimeError(f"{self._url} has providers of its own: {strangers[:5]}")
        parents = {p["uuid"]: p["parent_provider_uuid"] for p in providers}
        for uuid in sorted(parents, key=lambda uuid: _depth(uuid, parents), reverse=True):
            for consumer in self._get(f"/resource_providers/{uuid}/allocations")["allocations"]:
                self._delete(f"/allocations/{consumer}")
            self._delete(f"/resource_providers/{uuid}")

    def names(self) -> set[str]:
        """Return the paths of all resource classes and traits."""
        classes = self._get("/resource_classes")["resource_classes"]
        traits = self._get("/traits")["traits"]
        return {f"/resource_classes/{each['name']}" for each in classes} | {
            f"/traits/{name}" for name in traits
        }

    def delete(self, paths: Iterable[str]) -> None:
        """Delete the objects at each path."""
        for path in paths:
            self._delete(path)

    def _get(self, path: str) -> Any:
        response = self._session.get(self._url + path)
        response.raise_for_status()
        return response.json()

    def _delete(self, path: str) -> None:
        self._session.delete(self._url + path).raise_for_status()


def _depth(uuid: str, parents: dict[str, str | None]) -> int:
    parent = parents[uuid]
    return 0 if parent is None else 1 + _depth(parent, parents)


def provider_names(cloud: Path) -> dict[str, str]:
    """The name of each provider in a cloud file, by UUID."""

    def walk(providers: list[dict[str, Any]]) -> Iterator[tuple[str, str]]:
        for provider in providers:
            yield provider["uuid"], provider["name"]
            yield from walk(provider.get("children", []))

    return dict(walk(yaml.safe_load(cloud.read_text())["providers"]))


def __getattr__(name: str) -> type[EmptyDatabase]:
    """The fixture of a cloud file, created when a gabbit uses its name."""
    for path in CLOUDS.glob("*.yaml"):
        if name == "".join(word.capitalize() for word in path.stem.split("-")) + "Cloud":
            options = OPTIONS.get(path.stem, {})
            return type(name, (EmptyDatabase,), {"cloud": path, "options": options})
    raise AttributeError(f"no file in {CLOUDS} makes a fixture named {name}")
