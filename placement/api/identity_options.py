"""Checks of `[keystone_authtoken]` that keystonemiddleware itself does not make at the start."""

import os
from collections.abc import Iterator
from importlib.util import find_spec

from oslo_config import cfg

from placement.errors import ConfigurationError

GROUP = "[keystone_authtoken]"

# Options of a service that authenticates with a password.
REQUIRED = "auth_url, username, password, project_name, user_domain_name and project_domain_name"


def refuse_unusable(options: cfg.ConfigOpts.GroupAttr) -> None:
    """Check that the plugin, the libraries and the files that the options need exist.

    options: the registered options of the group.

    Raises:
        ConfigurationError: one of them is missing. The text names the option and the remedy.
    """
    if not (options.auth_type or options.auth_section):
        raise ConfigurationError(
            f"{GROUP} auth_type is not set: set it to password, and set {REQUIRED} of the "
            "service's user, or use [api] auth_strategy = noauth2, which is for tests only"
        )
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
