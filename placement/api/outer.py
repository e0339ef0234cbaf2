"""What stands around the application: request ids, and the well-known WSGI middleware.

In the order that a request meets them (contract README section 3): an id, the headers of a
proxy, CORS, the identity service. The last three are there only when configured.
"""

import uuid
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Any

from oslo_config import cfg
from oslo_middleware import cors, http_proxy_to_wsgi

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

REQUEST_ID = "X-Openstack-Request-Id"
REQUEST_ID_KEY = "openstack.request_id"

CORS_DEFAULTS = {
    "expose_headers": [
        "X-Auth-Token",
        "X-Openstack-Request-Id",
        "X-Subject-Token",
        "X-Service-Token",
        "OpenStack-API-Version",
    ],
    "allow_methods": ["GET", "PUT", "POST", "DELETE", "PATCH"],
    "allow_headers": [
        "X-Auth-Token",
        "X-Openstack-Request-Id",
        "X-Identity-Status",
        "X-Roles",
        "X-Service-Catalog",
        "X-User-Id",
        "X-Tenant-Id",
        "OpenStack-API-Version",
    ],
}


class RequestId:
    """Gives each request an id of ours, and each answer the header that tells it."""

    def __init__(self, application: "WSGIApplication") -> None:
        self._application = application

    def __call__(
        self, environ: "WSGIEnvironment", start_response: "StartResponse"
    ) -> Iterable[bytes]:
        """Answer one request."""
        request_id = environ[REQUEST_ID_KEY] = f"req-{uuid.uuid4()}"

        def start(status: str, headers: list[tuple[str, str]], exc_info: Any = None) -> Any:
            headers.append((REQUEST_ID.lower(), request_id))
            return start_response(status, headers, exc_info)

        return self._application(environ, start)


class Authenticated:
    """Lets only requests with a valid token through, and all requests for public paths."""

    def __init__(
        self, application: "WSGIApplication", conf: cfg.ConfigOpts, public: Collection[str]
    ) -> None:
        # PERF: imported where it is needed, since it costs half a second and 15 MB.
        from keystonemiddleware import auth_token

        self._open = application
        self._guarded = auth_token.AuthProtocol(application, {"oslo_config_config": conf})
        self._public = {"", *public}

    def __call__(
        self, environ: "WSGIEnvironment", start_response: "StartResponse"
    ) -> Iterable[bytes]:
        """Answer one request."""
        chosen = self._open if environ.get("PATH_INFO", "") in self._public else self._guarded
        answer: Iterable[bytes] = chosen(environ, start_response)
        return answer


def register_options(conf: cfg.ConfigOpts) -> None:
    """Make the groups that other libraries read known, with the service's own defaults."""
    cors.set_defaults(**CORS_DEFAULTS)
    conf.register_opts(cors.OPTS, group="cors")
    conf.register_opts(http_proxy_to_wsgi.OPTS, group="oslo_middleware")


def surround(
    application: "WSGIApplication", conf: cfg.ConfigOpts, public: Collection[str], keystone: bool
) -> "WSGIApplication":
    """Put around the application what the configuration asks for."""
    register_options(conf)
    if keystone:
        application = Authenticated(application, conf, public)
    if conf.cors.allowed_origin:
        application = cors.CORS(application, conf)
    if conf.oslo_middleware.enable_proxy_headers_parsing:
        application = http_proxy_to_wsgi.HTTPProxyToWSGI(application, conf)
    return RequestId(application)
