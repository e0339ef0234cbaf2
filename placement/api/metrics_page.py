"""The metrics, on a path that is none of the API's: a WSGI layer."""

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from placement.api.authentication import CALLER_KEY
from placement.api.policy import Policy
from placement.api.request_log import METRICS, OPERATION_KEY, refuse

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

LOG = logging.getLogger(__name__)

METRICS_RULE = "placement:metrics"
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


@dataclass(frozen=True, slots=True)
class Page:
    """Where the metrics are shown, and what makes their text.

    port: the one of their own; None: they are on the ports of the API. token_required: whether only
    those may read it whom the rule admits.
    """

    path: str
    port: int | None
    token_required: bool
    text: Callable[[], bytes]


class MetricsPage:
    """Show the metrics; hand what is for the API to the application."""

    def __init__(self, application: "WSGIApplication", page: Page, policy: Policy) -> None:
        """Where a token is required, callers have been authenticated before."""
        self._application = application
        self._page = page
        self._port = str(page.port)
        self._policy = policy

    def __call__(
        self, environ: "WSGIEnvironment", start_response: "StartResponse"
    ) -> Iterable[bytes]:
        """Answer one request."""
        page = self._page
        own = page.port is not None
        if own and environ["SERVER_PORT"] != self._port:
            return self._application(environ, start_response)
        path = environ.get("PATH_INFO", "")
        if path != page.path:
            if own:
                detail = f"There is nothing but {page.path} on this port"
                return refuse(environ, start_response, 404, detail)
            return self._application(environ, start_response)
        if environ["REQUEST_METHOD"] != "GET":
            detail = "The metrics can only be read: use GET"
            return refuse(environ, start_response, 405, detail, [("Allow", "GET")])
        environ[OPERATION_KEY] = METRICS
        if page.token_required:
            refusal = self._policy.refusal(METRICS_RULE, environ[CALLER_KEY])
            if refusal is not None:
                return refuse(environ, start_response, 403, refusal)
        try:
            text = page.text()
        except OSError as error:
            LOG.error("the metrics cannot be read: %s", error)
            detail = "The metrics cannot be read; the log of the service says why"
            return refuse(environ, start_response, 503, detail)
        headers = [("Content-Type", CONTENT_TYPE), ("Content-Length", str(len(text)))]
        start_response("200 OK", headers)
        return [text]
