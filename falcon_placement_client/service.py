"""Parts of falcon-placement that the client uses if the service is also installed.

The client does not import the service. Instead, the service registers the modules as entry points.
The name of the package would be ambiguous, because openstack-placement uses the same name.
"""

from importlib import metadata
from typing import Any

from falcon_placement_client.errors import ClientError

GROUP = "falcon_placement_client.service"


class ServiceNotInstalled(ClientError):
    """The distribution falcon-placement is not installed."""


def load(name: str, feature: str) -> Any:
    """Return a module of the service.

    Args:
        feature: name of the feature that needs the module, for the error.

    Raises:
        ServiceNotInstalled: the text contains the package to install.
    """
    for entry in metadata.entry_points(group=GROUP, name=name):
        return entry.load()
    raise ServiceNotInstalled(f"{feature} needs the service: pip install falcon-placement")
