"""A WSGI layer that serves the metrics."""

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
    """The path of the metrics, and their text."""

    # URL path.
    path: str
    # Separate port. None means the ports of the API.
    port: int | None
    # Whether only callers that pass the policy rule may read the metrics.
    token_required: bool
    # Returns the current metrics.
    text: Callable[[], bytes]


class MetricsPage:
    """Serves the metrics, and passes all other requests to the application."""

    def __init__(self, application: "WSGIApplication", page: Page, policy: Policy) -> None:
        """Wrap an application. If a token is required, an outer layer authenticates the callers."""
        self._application = application
        self._page = page
        self._port = str(page.port)
        self._policy = policy

    def __call__(
        self, environ: "WSGIEnvironment", start_response: "StartResponse"
    ) -> Iterable[bytes]:
        """Process one request."""
        page = self._page
        own = page.port is not None
        if own and environ["SERVER_PORT"] != self._port:
            return self._application(environ, start_response)
        path = environ.get("PATH_INFO", "")
        if path != page.path:
            if own:
                detail = f"This port serves only {page.path}"
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
            detail = "The metrics cannot be read; see the log of the service"
            return refuse(environ, start_response, 503, detail)
        headers = [("Content-Type", CONTENT_TYPE), ("Content-Length", str(len(text)))]
        start_response("200 OK", headers)
        return [text]
