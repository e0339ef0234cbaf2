"""`PlacementDirect`: the complete REST API in this process.

Requests pass through the same steps as in a server: versions, policy, schemas, errors. The thread
that sends a request also processes it. Only the database may be remote.
"""

import io
import sys
from contextlib import ExitStack
from dataclasses import replace
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote_to_bytes, urlsplit

import requests
from keystoneauth1.adapter import Adapter
from keystoneauth1.plugin import FixedEndpointPlugin
from keystoneauth1.session import Session
from oslo_config import cfg
from requests.adapters import HTTPAdapter
from urllib3 import HTTPHeaderDict, HTTPResponse

from placement import config
from placement.config import Settings
from placement.entry import app

if TYPE_CHECKING:
    from types import TracebackType

    from _typeshed.wsgi import WSGIApplication, WSGIEnvironment

URL = "http://placement.direct"
IN_MEMORY = frozenset(("sqlite://", "sqlite:///:memory:"))
# A caller that has access to the database may use the whole API. Only the service role may reshape.
IDENTITY = {"X-Auth-Token": "admin", "X-Roles": "admin,service"}


class PlacementDirect:
    """A context manager that returns a keystoneauth1 adapter for the service.

    ::

        with PlacementDirect(conf, latest_microversion=True) as client:
            providers = client.get("/resource_providers").json()["resource_providers"]

    The adapter has `get`, `put`, `post`, `patch` and `delete`; each takes a path, and `json`,
    `headers`, `microversion` and `raise_exc`. Errors are returned as responses, unless
    `raise_exc=True`. It is thread-safe, and a process may have several; a forked process opens
    connections of its own.
    """

    def __init__(self, conf: cfg.ConfigOpts | Settings, latest_microversion: bool = False) -> None:
        """Store the configuration. The most important part is the database.

        Args:
            conf: options, or settings as read by `placement.config`. Options that were not parsed
                have their defaults and the values set by `set_override`; neither files nor the
                command line of the process are read. `auth_strategy` is ignored: callers are
                administrators unless they send their own `X-Auth-Token` and `X-Roles`.
            latest_microversion: whether requests without a microversion use the latest 1.x instead
                of 1.0.

        Raises:
            ConfigurationError: the options cannot be used.
        """
        self._settings = replace(read_settings(conf), auth_strategy="noauth2")
        # Microversion of requests without a microversion, or None for the default of the service.
        self._microversion = "latest" if latest_microversion else None
        # The resources that are released at the end of the context.
        self._exits = ExitStack()

    @classmethod
    def on_database(cls, url: str) -> "PlacementDirect":
        """Return a service on a database. All options have their default values.

        When the context is entered, the database is migrated to the newest schema.

        Args:
            url: SQLAlchemy URL, such as `sqlite:///placement.db`. `sqlite://` is a private database
                in a temporary directory, which is deleted when the context is left.
        """
        conf = cfg.ConfigOpts()
        config.register(conf)
        # Without this argument, oslo.config would read files named after the running program.
        conf([], default_config_files=[], default_config_dirs=[], use_env=False)
        conf.set_override("connection", url, "placement_database")
        conf.set_override("sync_on_startup", True, "placement_database")
        return cls(conf, latest_microversion=True)

    def __enter__(self) -> Adapter:
        """Prepare the database as a server does, and return the adapter.

        Raises:
            ConfigurationError: the database cannot be used. The text is one line.
        """
        with ExitStack() as exits:
            settings = self._settings
            if settings.database.connection in IN_MEMORY:
                # Each thread has a separate connection. With an in-memory database, each connection
                # would have its own database.
                directory = exits.enter_context(TemporaryDirectory(prefix="placement-"))
                url = f"sqlite:///{directory}/placement.db"
                settings = replace(settings, database=replace(settings.database, connection=url))
            application, database = app.start(settings)
            exits.callback(database.dispose)
            session = exits.enter_context(requests.Session())
            # The session does not use settings of the environment (proxies, .netrc) and no other
            # hosts.
            session.trust_env = False
            session.adapters.clear()
            session.mount(URL, InProcessTransport(application))
            self._exits = exits.pop_all()
        return Adapter(
            Session(auth=_Caller(URL), session=session, additional_headers=dict(IDENTITY)),
            service_type="placement",
            default_microversion=self._microversion,
            raise_exc=False,
        )

    def __exit__(
        self,
        kind: "type[BaseException] | None",
        error: BaseException | None,
        at: "TracebackType | None",
    ) -> None:
        self._exits.close()


def read_settings(conf: cfg.ConfigOpts | Settings) -> Settings:
    """Return the settings of a service in this process; an unparsed `conf` has its overrides only.

    Raises:
        ConfigurationError: the options cannot be used.
    """
    if isinstance(conf, Settings):
        return conf
    config.register(conf)
    try:
        conf.find_file("placement.conf")
    except cfg.NotInitializedError:
        config.parse(conf, [], files=[])
    return config.settings(conf)


class _Caller(FixedEndpointPlugin):
    """Returns the URL of the service, and headers with an identity that callers can replace."""

    def get_headers(self, session: Session) -> dict[str, str]:
        return {}


class InProcessTransport(HTTPAdapter):
    """A transport of `requests` that passes each request to a WSGI application."""

    def __init__(self, application: "WSGIApplication") -> None:
        super().__init__()
        self._application = application

    def send(
        self, request: requests.PreparedRequest, *_options: Any, **_more_options: Any
    ) -> requests.Response:
        """Return the response of the application. Connection options are ignored."""
        started: list[tuple[str, list[tuple[str, str]]]] = []

        def start_response(
            status: str, headers: list[tuple[str, str]], _error: Any = None, /
        ) -> Any:
            started[:] = [(status, headers)]

        chunks = self._application(_environ(request), start_response)
        try:
            body = b"".join(chunks)
        finally:
            getattr(chunks, "close", lambda: None)()
        [(status, headers)] = started
        code, _, reason = status.partition(" ")
        response = HTTPResponse(
            io.BytesIO(body),
            HTTPHeaderDict(headers),
            int(code),
            reason=reason,
            preload_content=False,
            request_method=request.method,
        )
        return self.build_response(request, response)


def _environ(request: requests.PreparedRequest) -> "WSGIEnvironment":
    """Return the WSGI environment that a server would create for a request."""
    url = urlsplit(str(request.url))
    body = _body(request.body)
    environ: WSGIEnvironment = {
        "REQUEST_METHOD": str(request.method),
        "SCRIPT_NAME": "",
        "PATH_INFO": unquote_to_bytes(url.path).decode("latin-1"),
        "QUERY_STRING": url.query,
        "SERVER_NAME": str(url.hostname),
        "SERVER_PORT": str(url.port or 80),
        "SERVER_PROTOCOL": "HTTP/1.1",
        "HTTP_HOST": url.netloc,
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": url.scheme,
        "wsgi.input": io.BytesIO(body),
        "wsgi.input_terminated": True,
        "wsgi.errors": sys.stderr,
        "wsgi.multithread": True,
        "wsgi.multiprocess": True,
        "wsgi.run_once": False,
    }
    for name, value in request.headers.items():
        # As in servers, names with an underscore are ignored, because they could be mistaken for
        # other headers.
        if "_" not in name:
            environ[_variable(name)] = _text(value)
    return environ


def _variable(header: str) -> str:
    name = header.upper().replace("-", "_")
    return name if name in {"CONTENT_LENGTH", "CONTENT_TYPE"} else f"HTTP_{name}"


def _text(value: str | bytes) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else value


def _body(body: Any) -> bytes:
    """Return the bytes of a body, which may be a text, a file or an iterator of bytes."""
    if body is None:
        return b""
    if isinstance(body, str):
        return body.encode()
    if isinstance(body, bytes):
        return body
    data: bytes = body.read() if hasattr(body, "read") else b"".join(body)
    return data
