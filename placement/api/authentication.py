"""Authentication: one of two WSGI layers identifies the caller or returns 401.

The layer stores the caller as an oslo.context RequestContext in the environment, under
`CALLER_KEY`, before it calls the application.
"""

import logging
import os
import threading
from collections.abc import Callable, Collection, Iterable, Iterator
from hashlib import sha256
from importlib.util import find_spec
from time import monotonic
from typing import TYPE_CHECKING, Any

from oslo_config import cfg
from oslo_context.context import RequestContext

from placement.api.request_log import refuse
from placement.errors import ConfigurationError
from placement.runtime import stopwatch
from placement.runtime.bounded import SizeLimitedDict

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

LOG = logging.getLogger(__name__)

CALLER_KEY = "placement.caller"

VALID = "204 No Content"  # status that the inner application returns if the token is valid
RETRY_AFTER = [("Retry-After", "1")]  # seconds
UNAUTHENTICATED = "Authentication required: send a token in X-Auth-Token"
REJECTED = "The identity service does not accept the token: get a new one"

GROUP = "[keystone_authtoken]"

# Default of http_connect_timeout: seconds until a request to the identity service fails. With the
# default retries, a caller waits for up to 45 seconds, which is less than the usual timeout of a
# proxy, a minute.
TIMEOUT = 10

# Maximum number of threads of a process that wait for the identity service. The servers' files have
# 32 threads, so the others serve public paths and tokens in the cache.
MAX_VALIDATIONS = 16
# Seconds that a further thread waits before its request is refused. An identity service that
# responds within this time is not overloaded by a burst of new tokens.
PATIENCE = 0.2

# Seconds for which a process keeps a validated token, unless token_cache_time is less. nova sends
# the token of its service user with some twenty requests for each boot.
MAX_AGE = 5
MAX_TOKENS = 64  # maximum number of these tokens; each has the catalog of the cloud

# Options of a service that authenticates with a password.
REQUIRED = "auth_url, username, password, project_name, user_domain_name and project_domain_name"


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
            return refuse(environ, start_response, 401, UNAUTHENTICATED)
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
        from keystonemiddleware import auth_token, opts  # noqa: PLC0415

        from placement.compat.keystonemiddleware import around_validations  # noqa: PLC0415

        # keystonemiddleware has no timeout by default: an identity service that accepts connections
        # and does not respond would block all threads.
        for group, options in opts.list_auth_token_opts():
            conf.register_opts(options, group)
        conf.set_default("http_connect_timeout", TIMEOUT, "keystone_authtoken")
        # If the decision were delayed, requests with invalid tokens would reach the policy, and the
        # rule `@` would admit any caller.
        middleware = {"oslo_config_config": conf, "delay_auth_decision": False}
        try:
            self._guard = auth_token.AuthProtocol(let_pass, middleware)
        except (cfg.Error, ClientException, auth_token.ConfigurationError) as error:
            text = " ".join(str(error).split())
            raise ConfigurationError(f"{GROUP} {text}") from None
        except Exception as error:
            # The error of a missing file does not name it. Plugins without their library raise any.
            _refuse_unusable(conf.keystone_authtoken)
            raise ConfigurationError(f"{GROUP} cannot be used: {error!r}") from error
        _refuse_unusable(conf.keystone_authtoken)
        around_validations(self._guard, self._validate)
        # SHA-256 of a token -> the time until which its data is used, and the data.
        self._recent = SizeLimitedDict[tuple[float, Any]](MAX_TOKENS, lambda _: 1)
        self._max_age = min(MAX_AGE, conf.keystone_authtoken.token_cache_time)
        # PERF: it reads the token from memcached, deciphers and parses it for each request. Its
        # caller checks the expiry and the access rules of the token, still for each request.
        self._fetch_token, self._guard.fetch_token = self._guard.fetch_token, self._fetch
        self._validating = threading.BoundedSemaphore(MAX_VALIDATIONS)
        self._application = application
        self._public = {"", *public}

    def __call__(
        self, environ: "WSGIEnvironment", start_response: "StartResponse"
    ) -> Iterable[bytes]:
        """Process one request. Return 401 if the token is missing or invalid."""
        if environ.get("PATH_INFO", "") in self._public:
            return self._application(environ, start_response)
        responses: list[tuple[str, list[tuple[str, str]]]] = []
        try:
            with stopwatch.AUTHENTICATION:
                self._guard(environ, lambda *started: responses.append(started[:2]))
        except _TooManyValidationsError:
            return _unavailable(environ, start_response)
        except Exception as error:
            # The middleware raises any exception if a response of the identity service is no JSON,
            # or other JSON than expected.
            LOG.error("the identity service does not respond as expected: %r", error)
            return _unavailable(environ, start_response)
        [(status, headers)] = responses
        if status == VALID:
            environ[CALLER_KEY] = RequestContext.from_environ(environ)
            return self._application(environ, start_response)
        if status.startswith("401"):
            # The body of the middleware does not have the format of the API.
            detail = REJECTED if "HTTP_X_AUTH_TOKEN" in environ else UNAUTHENTICATED
            challenge = [header for header in headers if header[0].lower() == "www-authenticate"]
            return refuse(environ, start_response, 401, detail, challenge)
        return _unavailable(environ, start_response)

    def _fetch(self, token: str, **options: Any) -> Any:
        key, now = sha256(token.encode()).digest(), monotonic()
        until, data = self._recent.get(key, (now, None))
        if now >= until:
            data = self._fetch_token(token, **options)
            self._recent[key] = now + self._max_age, data
        return data

    def _validate(self, validate: Callable[[], Any]) -> Any:
        if not self._validating.acquire(timeout=PATIENCE):
            raise _TooManyValidationsError
        try:
            return validate()
        finally:
            self._validating.release()


class _TooManyValidationsError(Exception):
    """Other threads wait for the identity service."""


def let_pass(_environ: "WSGIEnvironment", start_response: "StartResponse") -> Iterable[bytes]:
    start_response(VALID, [])
    return []


def _unavailable(environ: "WSGIEnvironment", start_response: "StartResponse") -> Iterable[bytes]:
    detail = "The identity service, which validates tokens, is unavailable; retry later"
    return refuse(environ, start_response, 503, detail, RETRY_AFTER)


def _refuse_unusable(options: cfg.ConfigOpts.GroupAttr) -> None:
    """Check the timeout, and that the plugin, libraries and files that the options need exist.

    keystonemiddleware does not check this at the start. options: the registered options.

    Raises:
        ConfigurationError: one of them is missing. The text names the option and the remedy.
    """
    if not (options.auth_type or options.auth_section):
        raise ConfigurationError(
            f"{GROUP} auth_type is not set: set it to password, and set {REQUIRED} of the "
            "service's user, or use [api] auth_strategy = noauth2, which is for tests only"
        )
    timeout = options.http_connect_timeout
    if timeout is not None and timeout <= 0:  # urllib3 refuses it in each request
        raise ConfigurationError(f"{GROUP} http_connect_timeout: {timeout} is less than 1")
    for option in _files(options):
        path = options[option]
        if path and not os.access(path, os.R_OK):
            raise ConfigurationError(f"{GROUP} {option}: cannot read the file {path}")
    for option, library in _libraries(options):
        if find_spec(library) is None:
            raise ConfigurationError(
                f"{GROUP} {option} is set, and the library {library} is not installed: "
                "pip install 'falcon-placement[memcached]', or remove the option"
            )


def _libraries(options: cfg.ConfigOpts.GroupAttr) -> Iterator[tuple[str, str]]:
    """Yield options with the libraries that they need."""
    if not options.memcached_servers:
        return
    advanced = options.memcache_sasl_enabled or _encrypts_connections(options)
    yield "memcached_servers", "bmemcached" if advanced else "memcache"
    if options.memcache_security_strategy.upper() == "ENCRYPT":
        yield "memcache_security_strategy = ENCRYPT", "cryptography"


def _encrypts_connections(options: cfg.ConfigOpts.GroupAttr) -> bool:
    # The option is missing before keystonemiddleware 10.12 (OpenStack 2025.2).
    encrypts = getattr(options, "memcache_tls_enabled", False)
    return bool(encrypts and options.memcache_use_advanced_pool)


def _files(options: cfg.ConfigOpts.GroupAttr) -> Iterator[str]:
    """Yield the options that name files which the service will read."""
    yield from ("certfile", "keyfile")
    if not options.insecure:
        yield "cafile"
    if options.memcached_servers and _encrypts_connections(options):
        yield from ("memcache_tls_cafile", "memcache_tls_certfile", "memcache_tls_keyfile")
