"""The service and the identity for commands, as a keystoneauth1 adapter."""

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Union
from urllib.parse import urlsplit

from falcon_placement_client.errors import RestError, reason, unreachable

if TYPE_CHECKING:
    # PERF: commands that do not need an adapter start faster without these.
    from keystoneauth1.adapter import Adapter
    from keystoneauth1.session import Session


@dataclass(frozen=True, slots=True)
class NamedCloud:
    """A cloud of clouds.yaml."""

    name: str


# A token, which is sent as X-Auth-Token, a cloud, or an adapter of the service with its identity.
# None means the identity in the environment.
Identity = Union[str, NamedCloud, "Adapter", None]

DEFAULT_URL = "http://127.0.0.1:8778"
DEFAULT_TOKEN = "admin"  # noqa: S105 - for a service with noauth2
SERVICE_TYPE = "placement"
MAX_LABEL = 63  # characters between two dots of a host name
RETRIES = 2
RETRY_SECONDS = 0.3
# Statuses of a server that is temporarily busy or is restarting.
BUSY = [502, 503, 504]

_LOOPBACK = frozenset(("localhost", "127.0.0.1", "::1"))
# Variables from which keystoneauth1 reads an identity in the environment.
_IDENTITY = ("OS_AUTH_TYPE", "OS_AUTH_PLUGIN", "OS_AUTH_URL")


def connect(url: str | None, caller: Identity) -> "Adapter":
    """Return an adapter of the service.

    Args:
        url: address of the API. None means the address in the catalogue of the identity service, or
            DEFAULT_URL without an identity service.
        caller: an adapter is returned unchanged. None means the environment: OS_CLOUD, or
            OS_AUTH_TYPE and OS_AUTH_URL with the other variables of keystoneauth1, or OS_TOKEN.

    Raises:
        RestError: the identity cannot be used, or there is no endpoint.
    """
    from keystoneauth1.exceptions import ClientException, ConnectFailure  # noqa: PLC0415

    if caller is None:
        caller = _named_by_environment()
    if isinstance(caller, str):
        return _with_token(DEFAULT_URL if url is None else url, caller)
    if not isinstance(caller, NamedCloud | None):
        return caller
    try:
        adapter = _of_environment() if caller is None else _of_cloud(caller)
        adapter.endpoint_override = url or adapter.endpoint_override
        _check_identity_service(adapter.session)
        # The request is sent here to distinguish its refusal from a refusal of the service.
        adapter.get_token()
        if adapter.get_endpoint() is None:
            raise RestError("the identity has no placement endpoint; state one with --url")
    except ClientException as error:
        text = reason(error)
        if isinstance(error, ConnectFailure):
            text = f"{unreachable(error)}; check OS_AUTH_URL, or auth_url in clouds.yaml"
        raise RestError(f"the identity cannot be used: {text}") from None
    except Exception as error:
        # keystoneauth1 raises a plain Exception if an option is missing.
        if type(error) is not Exception:
            raise
        raise RestError(f"the identity cannot be used: {error}") from None
    return adapter


def _check_identity_service(session: "Session") -> None:
    """Raise RestError if the URL of the identity service itself requires a token.

    keystoneauth1 would request a token there and wait forever.
    """
    url = getattr(session.auth, "auth_url", None)
    if url:
        response = session.get(url, authenticated=False, raise_exc=False)
        if response.status_code == 401:
            raise RestError(f"{url} is not the URL of an identity service: it wants a token (401)")


def _named_by_environment() -> Identity:
    """Return a cloud or a token in the environment, or None if keystoneauth1 reads the identity."""
    if os.environ.get("OS_CLOUD"):
        return NamedCloud(os.environ["OS_CLOUD"])
    if any(map(os.environ.get, _IDENTITY)):
        return None
    return os.environ.get("OS_TOKEN", DEFAULT_TOKEN)


def _with_token(url: str, token: str) -> "Adapter":
    """Return an adapter that sends a token to a URL.  Raises RestError if it cannot be used."""
    import requests  # noqa: PLC0415
    from keystoneauth1.session import Session  # noqa: PLC0415
    from keystoneauth1.token_endpoint import Token  # noqa: PLC0415

    try:
        parts = urlsplit(url)
        labels = (parts.hostname or "").removesuffix(".").split(".")
        # urllib3 raises an error of its own for a name that no host can have.
        has_host = all(0 < len(label) <= MAX_LABEL for label in labels)
        usable = parts.scheme in ("http", "https") and has_host and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        form = DEFAULT_URL if "://" in url else f"http://{url}"
        raise RestError(f"{url!r} is not the URL of a server; write it as {form}")
    if not (token.isascii() and token.isprintable() and token == token.strip()):
        raise RestError("the token can hold only printable ASCII characters")
    connections = requests.Session()
    # A proxy for external requests cannot reach this machine.
    connections.trust_env = parts.hostname not in _LOOPBACK
    verify = os.environ.get("OS_CACERT") or True
    return adapter_of(Session(Token(url, token), connections, verify=verify))


def _of_environment() -> "Adapter":
    """Return an adapter with the identity in the environment."""
    import argparse  # noqa: PLC0415

    from keystoneauth1 import loading  # noqa: PLC0415

    # The defaults of these options are read from the environment.
    parser = argparse.ArgumentParser()
    loading.register_auth_argparse_arguments(parser, [], default="password")
    loading.register_session_argparse_arguments(parser)
    loading.register_adapter_argparse_arguments(parser, SERVICE_TYPE)
    options = parser.parse_args([])
    auth = loading.load_auth_from_argparse_arguments(options)
    return adapter_of(
        loading.load_session_from_argparse_arguments(options, auth=auth),
        options.os_region_name,
        options.os_interface,
        options.os_endpoint_override,
    )


def _of_cloud(cloud: NamedCloud) -> "Adapter":
    """Return an adapter with the identity of a cloud in clouds.yaml.  Raises RestError."""
    try:
        from openstack import config  # noqa: PLC0415
        from openstack.exceptions import ConfigException  # noqa: PLC0415
    except ImportError:
        raise RestError(
            f"cloud {cloud.name} needs openstacksdk: pip install 'falcon-placement-client[clouds]'"
        ) from None
    try:
        region = config.get_cloud_region(cloud=cloud.name)
        session = region.get_session()
    except ConfigException as error:
        text = " ".join(str(error).split()).removesuffix(".")
        raise RestError(
            f"cloud {cloud.name}: {text}; clouds.yaml in this directory, ~/.config/openstack or "
            "/etc/openstack defines clouds"
        ) from None
    return adapter_of(
        session,
        region.get_region_name(SERVICE_TYPE),
        region.get_interface(SERVICE_TYPE),
        region.get_endpoint(SERVICE_TYPE),
    )


def adapter_of(
    session: "Session",
    region: str | None = None,
    interface: str | list[str] | None = None,
    url: str | None = None,
) -> "Adapter":
    """Return an adapter that retries requests while a server is busy."""
    from keystoneauth1.adapter import Adapter  # noqa: PLC0415

    return Adapter(
        session,
        service_type=SERVICE_TYPE,
        interface=interface,
        region_name=region,
        endpoint_override=url,
        connect_retries=0,
        connect_retry_delay=RETRY_SECONDS,
        status_code_retries=RETRIES,
        retriable_status_codes=BUSY,
        status_code_retry_delay=RETRY_SECONDS,
    )
