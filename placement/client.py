"""Parts of falcon-placement-client that the service uses if the client is also installed.

The service does not import the client. Instead, the client registers commands and functions as
entry points, as the service does for the client.
"""

from importlib import metadata
from typing import Any

from placement.errors import ConfigurationError

COMMANDS = "falcon_placement.commands"  # group of the functions that set up commands
FILES = "falcon_placement.files"  # group of the modules that read files of operators


def load(group: str, name: str, feature: str) -> Any:
    """Return what the client has registered.

    Args:
        group: group of entry points.
        name: name of the entry point.
        feature: name of the feature that needs it, for the error.

    Raises:
        ConfigurationError: the client is not installed. The text contains the package to install.
    """
    for entry in metadata.entry_points(group=group, name=name):
        return entry.load()
    raise ConfigurationError(f"{feature} needs the client: pip install falcon-placement-client")
