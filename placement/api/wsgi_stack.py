"""The WSGI layers around the application.

A request passes them in this order: request log, files of the explorer, headers of a proxy, CORS,
authentication, metrics. The second, third and fourth layers exist only if they are configured.
Metrics that need no token come before authentication.
"""

import logging
import re
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from oslo_config import cfg
from oslo_middleware import cors, http_proxy_to_wsgi, opts

from placement import config
from placement.api import dry_run
from placement.api.authentication import CALLER_KEY, Keystone, NoAuth
from placement.api.policy import METRICS_RULE, Policy
from placement.api.request_log import METRICS, OPERATION_KEY, REQUEST_ID, RequestLog, refuse
from placement.errors import ConfigurationError
from placement.explorer import Explorer

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

LOG = logging.getLogger(__name__)

CORS_DEFAULTS = {
    "expose_headers": [
        "X-Auth-Token",
        REQUEST_ID,
        "X-Subject-Token",
        "X-Service-Token",
        "OpenStack-API-Version",
        dry_run.HEADER,
    ],
    "allow_methods": ["GET", "PUT", "POST", "DELETE", "PATCH"],
    "allow_headers": [
        "X-Auth-Token",
        REQUEST_ID,
        "X-Identity-Status",
        "X-Roles",
        "X-Service-Catalog",
        "X-User-Id",
        "X-Tenant-Id",
        "OpenStack-API-Version",
    ],
}

# The path prefix of a service behind a proxy: segments that need no quoting, or nothing.
_PREFIX = re.compile(r"(/[A-Za-z0-9._~!$&'()*+,;=:@-]+)*/?")

METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class CheckedProxy:
    """Refuses proxy headers about the client's URL that cannot be used in links."""

    def __init__(self, application: "WSGIApplication") -> None:
        self._application = application

    def __call__(
        self, environ: "WSGIEnvironment", start_response: "StartResponse"
    ) -> Iterable[bytes]:
        # Proxies may quote the scheme.
        scheme, prefix = environ["wsgi.url_scheme"].strip('"').lower(), environ["SCRIPT_NAME"]
        environ["wsgi.url_scheme"] = scheme
        if scheme not in {"http", "https"}:
            detail = f"X-Forwarded-Proto or Forwarded: {scheme!r:.80}: expected http or https"
            return refuse(environ, start_response, 400, detail)
        if not _PREFIX.fullmatch(prefix):
            detail = f"X-Forwarded-Prefix: {prefix!r:.80}: expected a path such as /placement"
            return refuse(environ, start_response, 400, detail)
        return self._application(environ, start_response)


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
        self._policy = policy

    def __call__(
        self, environ: "WSGIEnvironment", start_response: "StartResponse"
    ) -> Iterable[bytes]:
        page = self._page
        is_page = environ.get("PATH_INFO", "") == page.path
        if not (is_page if page.port is None else environ["SERVER_PORT"] == str(page.port)):
            return self._application(environ, start_response)
        if not is_page:
            return refuse(environ, start_response, 404, f"This port serves only {page.path}")
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
        headers = [("Content-Type", METRICS_TYPE), ("Content-Length", str(len(text)))]
        start_response("200 OK", headers)
        return [text]


def register_options(conf: cfg.ConfigOpts) -> None:
    """Register the option groups of other libraries, with this service's defaults."""
    cors.set_defaults(**CORS_DEFAULTS)
    for group, options in (*opts.list_opts_cors(), *opts.list_opts_http_proxy_to_wsgi()):
        conf.register_opts(options, group=group)


def wrap(
    application: "WSGIApplication",
    conf: cfg.ConfigOpts,
    public: Collection[str],
    keystone: bool,
    metrics: Callable[["WSGIApplication"], MetricsPage] | None = None,
) -> "WSGIApplication":
    """Return the application within its configured layers.

    Args:
        application: the innermost layer.
        conf: options of all layers.
        public: paths that need no token.
        keystone: whether the identity service authenticates callers.
        metrics: wraps an application in the metrics page. None means that there is no such page.

    Raises:
        ConfigurationError: a layer cannot be used as configured.
    """
    register_options(conf)
    if metrics is not None and conf.metrics.token_required:
        application = metrics(application)
    application = Keystone(application, conf, public) if keystone else NoAuth(application, public)
    if metrics is not None and not conf.metrics.token_required:
        application = metrics(application)
    try:
        if conf.cors.allowed_origin:
            application = cors.CORS(application, conf)
        if conf.oslo_middleware.enable_proxy_headers_parsing:
            application = http_proxy_to_wsgi.HTTPProxyToWSGI(CheckedProxy(application), conf)
    except cfg.Error as error:
        raise ConfigurationError(config.describe_error(error)) from None
    if shows_explorer(conf):
        application = Explorer(application, refuse, guarded=keystone)
    return RequestLog(application, conf.placement.slow_request)


def shows_explorer(conf: cfg.ConfigOpts) -> bool:
    """Return whether the explorer is served; if the option is unset, only with noauth2."""
    enabled: bool | None = conf.explorer.enabled
    return conf.api.auth_strategy == "noauth2" if enabled is None else enabled
