"""A cloud for the program `openstack`: an identity service, and flavors and servers of nova."""

from __future__ import annotations

import json
import logging
import warnings
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

from tests.kit.listener import listening
from tests.kit.printed import complaints

if TYPE_CHECKING:
    import pytest
    from _typeshed.wsgi import StartResponse, WSGIEnvironment

TOKEN = "admin:project-of-the-token"
PASSWORD = "secret"
FLAVOR = {
    "id": "f1", "name": "m1.small", "vcpus": 2, "ram": 2048, "disk": 10, "swap": 1500,
    "OS-FLV-EXT-DATA:ephemeral": 5, "rxtx_factor": 1.0, "os-flavor-access:is_public": True,
    "extra_specs": {"trait:HW_CPU_X86_AVX2": "required"}, "links": [],
}  # fmt: skip
SERVER = {"id": "5ca1ab1e-0000-4000-8000-00000000000a", "name": "web-1", "links": []}


class Cloud:
    """The identity service with its catalogue, and nova with one flavor and one server."""

    def __init__(self, placement: str) -> None:
        self.url = ""
        self.endpoints = {"placement": placement}

    def __call__(self, environ: WSGIEnvironment, respond: StartResponse) -> Iterable[bytes]:
        path = environ["PATH_INFO"]
        headers = [("Content-Type", "application/json")]
        if path.startswith("/compute"):
            document = self._compute(path.removeprefix("/compute"))
            respond("404 Not Found" if document is None else "200 OK", headers)
        elif environ["REQUEST_METHOD"] == "GET":
            link = {"rel": "self", "href": f"{self.url}/v3/"}
            document = {"version": {"id": "v3.14", "status": "stable", "links": [link]}}
            respond("200 OK", headers)
        else:
            environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
            document = {"token": self._token()}
            respond("201 Created", [*headers, ("X-Subject-Token", TOKEN)])
        return [json.dumps(document).encode()]

    def _token(self) -> dict[str, Any]:
        catalog = [
            {
                "id": kind, "type": kind, "name": kind,
                "endpoints": [
                    {
                        "id": kind, "interface": "public", "region": "one", "region_id": "one",
                        "url": url,
                    }
                ],
            }
            for kind, url in self.endpoints.items()
        ]  # fmt: skip
        domain = {"id": "default", "name": "Default"}
        return {
            "methods": ["password"],
            "issued_at": "2020-01-01T00:00:00.000000Z",
            "expires_at": "2100-01-01T00:00:00.000000Z",
            "user": {"id": "user-id", "name": "operator", "domain": domain},
            "project": {"id": "project-id", "name": "p", "domain": domain},
            "roles": [{"id": "admin", "name": "admin"}],
            "catalog": catalog,
        }

    def _compute(self, path: str) -> dict[str, Any] | None:
        """Return the document at a path of nova, or None if there is none."""
        flavors, servers = "/v2.1/flavors", "/v2.1/servers"
        version = {
            "id": "v2.1", "status": "CURRENT", "version": "2.90", "min_version": "2.1",
            "links": [{"rel": "self", "href": f"{self.url}/compute/v2.1/"}],
        }  # fmt: skip
        documents: dict[str, dict[str, Any]] = {
            "/v2.1": {"version": version},
            "": {"versions": [version]},
            f"{flavors}/f1": {"flavor": FLAVOR},
            flavors: {"flavors": [FLAVOR]},
            f"{flavors}/detail": {"flavors": [FLAVOR]},
            f"{flavors}/f1/os-extra_specs": {"extra_specs": FLAVOR["extra_specs"]},
            servers: {"servers": [SERVER]},
            f"{servers}/detail": {"servers": [SERVER]},
            f"{servers}/{SERVER['id']}": {"server": SERVER},
        }
        return documents.get(path.rstrip("/"))


@contextmanager
def cloud(placement: str, *, with_compute: bool = True) -> Iterator[Cloud]:
    """Serve the identity service and nova until the block ends."""
    with ExitStack() as exits:
        served = Cloud(placement)
        served.url = exits.enter_context(listening(served))
        if with_compute:
            served.endpoints["compute"] = f"{served.url}/compute/v2.1"
        yield served


def use_catalogue(monkeypatch: pytest.MonkeyPatch, cloud: Cloud) -> None:
    """Configure `openstack` to use the endpoint in the catalogue of the identity service."""
    variables = {
        "OS_AUTH_URL": f"{cloud.url}/v3", "OS_USERNAME": "operator", "OS_PASSWORD": PASSWORD,
        "OS_PROJECT_NAME": "p", "OS_USER_DOMAIN_ID": "default", "OS_PROJECT_DOMAIN_ID": "default",
        "OS_IDENTITY_API_VERSION": "3",
    }  # fmt: skip
    for name, value in variables.items():
        monkeypatch.setenv(name, value)


def use_endpoint(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    """Configure `openstack` to send a token to an endpoint, without an identity service."""
    for name, value in (("AUTH_TYPE", "admin_token"), ("TOKEN", "admin"), ("ENDPOINT", url)):
        monkeypatch.setenv(f"OS_{name}", value)


@contextmanager
def unchanged_logging() -> Iterator[None]:
    """Remove the handlers that a run of `openstack` adds."""
    root = logging.getLogger()
    handlers, level = [*root.handlers], root.level
    try:
        yield
    finally:
        root.handlers[:] = handlers
        root.setLevel(level)


class Openstack:
    """Runs `openstack` in this process."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys
        # What the last run printed to standard error.
        self.complaint = ""

    def run(self, *arguments: str) -> tuple[int, str]:
        """Return the exit code and the output."""
        self._capsys.readouterr()
        with warnings.catch_warnings(), unchanged_logging():
            warnings.simplefilter("ignore")  # of openstackclient and its libraries
            from openstackclient.shell import OpenStackShell
            from osc_lib.clientmanager import ClientManager

            # A process of `openstack` has one cloud.
            vars(ClientManager)["falcon_placement"]._handle = None
            try:
                code = OpenStackShell().run(list(arguments))
            except SystemExit as exit:
                code = int(exit.code or 0)
        printed = self._capsys.readouterr()
        self.complaint = "\n".join(complaints(printed.err))
        return code, printed.out

    def rows(self, *arguments: str, code: int = 0) -> list[dict[str, Any]]:
        """Return the rows that a command prints as JSON."""
        actual, text = self.run(*arguments, "-f", "json")
        assert actual == code, self.complaint
        rows: list[dict[str, Any]] = json.loads(text)
        return rows

    def row(self, *arguments: str) -> dict[str, Any]:
        """Return the only row that a command prints as JSON."""
        row: Any = self.rows(*arguments)
        assert isinstance(row, dict)
        return row

    def refusal(self, *arguments: str) -> str:
        """Return the only line of a command that fails."""
        code, out = self.run(*arguments)
        assert (code, out) == (1, ""), (code, out)
        [line] = self.complaint.splitlines()
        return line
