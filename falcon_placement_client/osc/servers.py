"""Servers of nova. They are consumers of the placement service."""

import re
from typing import Any

from openstack.exceptions import SDKException
from osc_lib import exceptions

from falcon_placement_client.terms import is_uuid


def consumer_uuid(manager: Any, text: str) -> str:
    """Return the UUID of a consumer.

    Args:
        manager: the clients of `openstack`.
        text: the UUID, or the name of a server of any project that the caller can see.

    Raises:
        CommandError: there is no such server, or no compute service.
    """
    if is_uuid(text):
        return text
    if not manager.is_compute_endpoint_enabled():
        raise exceptions.CommandError(
            f"{text}: expected a UUID, because the cloud has no compute endpoint"
        )
    compute = manager.sdk_connection.compute
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
