"""Authentication: one of two WSGI layers identifies the caller or returns 401.

The layer stores the caller as an oslo.context RequestContext in the environment, under
`CALLER_KEY`, before it calls the application.
"""

import logging
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Any

from oslo_config import cfg
from oslo_context.context import RequestContext

from placement.api import identity_options
from placement.api.request_log import refuse
from placement.errors import ConfigurationError

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

LOG = logging.getLogger(__name__)

CALLER_KEY = "placement.caller"

VALID = "204 No Content"  # status that the inner application returns if the token is valid
RETRY_AFTER = [("Retry-After", "1")]  # seconds


class NoAuth:
    """`noauth2`: accepts every token (`user` or `user:project`) and the identity headers."""

    def __init__(self, application: "WSGIApplication", public: Collection[str]) -> None:
        self._application = application
        self._public = public

    def __call__(
        self, environ: "WSGIEnvironment", start_response: "StartResponse"
    ) -> Iterable[bytes]:
        """Process one request. Without a token, the caller can only access public paths."""
        token = environ.get("HTTP_X_AUTH_TOKEN")
        if token is not None:
            environ[CALLER_KEY] = _caller(token, environ)
        elif environ.get("PATH_INFO", "") not in self._public:
            detail = "Authentication required: send a token in X-Auth-Token"
            return refuse(environ, start_response, 401, detail)
        return self._application(environ, start_response)


def _caller(token: str, environ: "WSGIEnvironment") -> RequestContext:
    user, _colon, project = token.partition(":")
    stated: dict[str, Any] = {"user_id": user}
    if "HTTP_X_PROJECT_ID" not in environ:
        stated["project_id"] = project or user
    if "HTTP_X_ROLES" not in environ:
        stated["roles"] = ["admin"] if user == "admin" else []
    return RequestContext.from_environ(environ, **stated)


class Keystone:
    """`keystone`: the identity service validates the token and returns its owner."""

    def __init__(
        self, application: "WSGIApplication", conf: cfg.ConfigOpts, public: Collection[str]
    ) -> None:
        """Read `[keystone_authtoken]`.

        Raises:
            ConfigurationError: its options cannot be used.
        """
        # PERF: imported only if needed, because they take half a second and 15 MB.
        from keystoneauth1.exceptions import ClientException  # noqa: PLC0415
        from keystonemiddleware import auth_token  # noqa: PLC0415

        # If the decision were delayed, requests with invalid tokens would reach the policy, and the
        # rule `@` would admit any caller.
        options = {"oslo_config_config": conf, "delay_auth_decision": False}
        try:
            self._guard = auth_token.AuthProtocol(_let_pass, options)
        except (cfg.Error, ClientException, auth_token.ConfigurationError) as error:
            text = " ".join(str(error).split())
            raise ConfigurationError(f"{identity_options.GROUP} {text}") from None
        except OSError:
            # A file of an option is missing. The error does not name it.
            identity_options.refuse_unusable(conf.keystone_authtoken)
            raise
        identity_options.refuse_unusable(conf.keystone_authtoken)
        self._faults: type[Exception] = ClientException
        self._application = application
        self._public = {"", *public}

    def __call__(
        self, environ: "WSGIEnvironment", start_response: "StartResponse"
    ) -> Iterable[bytes]:
        """Process one request. Return 401 if the token is missing or invalid."""
        if environ.get("PATH_INFO", "") in self._public:
            return self._application(environ, start_response)
        answers: list[tuple[str, list[tuple[str, str]]]] = []
        try:
            body = self._guard(environ, lambda *started: answers.append(started[:2]))
        except self._faults as error:
            LOG.error("the identity service does not respond: %s", error)
            return _unavailable(environ, start_response)
        [(status, headers)] = answers
        if status == VALID:
            environ[CALLER_KEY] = RequestContext.from_environ(environ)
            return self._application(environ, start_response)
        if status.startswith("401"):
            start_response(status, headers)
            return list(body)
        return _unavailable(environ, start_response)


def _let_pass(_environ: "WSGIEnvironment", start_response: "StartResponse") -> Iterable[bytes]:
    start_response(VALID, [])
    return []


def _unavailable(environ: "WSGIEnvironment", start_response: "StartResponse") -> Iterable[bytes]:
    detail = "The identity service, which validates tokens, is unavailable; retry later"
    return refuse(environ, start_response, 503, detail, RETRY_AFTER)
