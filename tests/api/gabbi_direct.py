"""Fixtures that send the requests of the gabbits through `PlacementDirect`.

Each is the fixture of the same name in ``gabbi_fixtures``, for a service that forwards requests and
responses.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from keystoneauth1.adapter import Adapter

from placement.entry.direct import IDENTITY, PlacementDirect
from tests.api import gabbi_fixtures
from tests.kit.builders import database_url, settings

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

# What is said of a connection, which is another one on the next leg.
OF_CONNECTION = {"HTTP_CONNECTION", "HTTP_ACCEPT_ENCODING", "HTTP_TRANSFER_ENCODING"}


def sending_to(client: Adapter) -> WSGIApplication:
    """An application that returns the responses that the client receives."""

    def application(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        path, query = quote(environ["PATH_INFO"].encode("latin-1")), environ["QUERY_STRING"]
        answer = client.request(
            f"{path}?{query}" if query else path,
            environ["REQUEST_METHOD"],
            headers=_headers(environ),
            data=environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0)),
        )
        start_response(f"{answer.status_code} {answer.reason}", list(answer.headers.items()))
        return [answer.content]

    return application


def _headers(environ: WSGIEnvironment) -> dict[str, str | None]:
    """Return the headers of a request. If the request states no identity, none is added."""
    headers: dict[str, str | None] = dict.fromkeys(IDENTITY)
    if environ.get("CONTENT_TYPE"):
        headers["Content-Type"] = environ["CONTENT_TYPE"]
    for variable, value in environ.items():
        if variable.startswith("HTTP_") and variable not in OF_CONNECTION:
            headers[variable.removeprefix("HTTP_").replace("_", "-").title()] = value
    return headers


class EmptyDatabase(gabbi_fixtures.EmptyDatabase):
    """A service with the standard classes and traits, and without providers."""

    def _start_local(self) -> Callable[[], None]:
        exits = ExitStack()
        directory = exits.enter_context(tempfile.TemporaryDirectory(prefix="gabbits-"))
        direct = PlacementDirect(settings(database_url(Path(directory)), **self.options))
        client = exits.enter_context(direct)
        gabbi_fixtures.local_service().application = sending_to(client)
        return exits.close


def __getattr__(name: str) -> type[EmptyDatabase]:
    """The fixture of a cloud file."""
    fixture = gabbi_fixtures.__getattr__(name)
    return type(name, (EmptyDatabase,), {"cloud": fixture.cloud, "options": fixture.options})
