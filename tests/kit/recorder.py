"""A keystoneauth1 adapter that records the requests to another one, and may stop the process."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import requests
from keystoneauth1.adapter import Adapter


class Killed(BaseException):
    """The process is killed here."""


class Recorder(Adapter):
    """Sends requests through the session of an adapter, and records them.

    lacks_trees: whether the service answers as one of 2.0 without `/provider_trees`.
    requests: `METHOD path` of each request, except that for the version document. before: called
    before each request. lives: number of further requests before the process is killed; None for
    any. answered: whether the last request reaches the service and only its response is lost.
    """

    def __init__(self, adapter: Adapter) -> None:
        super().__init__(
            adapter.session,
            service_type="placement",
            endpoint_override=adapter.endpoint_override,
            raise_exc=False,
        )
        self.requests: list[str] = []
        self.before: Callable[[str], None] = lambda request: None
        self.lives: int | None = None
        self.answered = False
        self.lacks_trees = False

    def request(self, url: str, method: str, **options: Any) -> requests.Response:
        if url == "/":
            return super().request(url, method, **options)
        request = f"{method} {url}"
        self.requests.append(request)
        self.before(request)
        killed = self.lives is not None and len(self.requests) > self.lives
        if killed and not self.answered:
            raise Killed(request)
        if self.lacks_trees:
            url = url.replace("/provider_trees/", "/no_such_path/")
        answer = super().request(url, method, **options)
        if killed:
            raise Killed(request)
        return answer

    def writes(self) -> list[str]:
        """The requests other than GET."""
        return [request for request in self.requests if not request.startswith("GET")]
