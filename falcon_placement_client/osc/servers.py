"""Servers of nova. They are consumers of the placement service."""

import re
from typing import Any

from openstack.exceptions import SDKException
from osc_lib import exceptions

from falcon_placement_client.terms import is_uuid


def compute_of(manager: Any) -> Any:
    """Return the proxy of the compute service, or None if the cloud has none."""
    if not manager.is_compute_endpoint_enabled():
        return None
    compute = manager.sdk_connection.compute
    # With one endpoint for all services (admin_token), openstacksdk returns a proxy without
    # resources if the endpoint does not support an API of compute.
    return compute if hasattr(compute, "find_flavor") else None


def consumer_uuid(manager: Any, text: str) -> str:
    """Return the UUID of a consumer.

    Args:
        text: the UUID, or the name of a server of any project that the caller can see.

    Raises:
        CommandError: there is no such server, or no compute service.
    """
    if is_uuid(text):
        return text
    compute = compute_of(manager)
    if compute is None:
        raise exceptions.CommandError(
            f"{text}: expected a UUID, because the cloud has no compute endpoint"
        )
    try:
        # nova treats the name as a regular expression.
        servers = [*compute.servers(details=False, name=f"^{re.escape(text)}$")]
    except SDKException as error:
        raise exceptions.CommandError(f"server {text}: {' '.join(str(error).split())}") from None
    found = [server.id for server in servers if server.name == text]
    if len(found) != 1:
        problem = f"{len(found)} servers have this name" if found else "there is no such server"
        raise exceptions.CommandError(f"server {text}: {problem}")
    return str(found[0])
