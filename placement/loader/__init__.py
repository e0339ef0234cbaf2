"""Cloud files: a cloud described in YAML, and how a server is brought to that state.

``cloudfile`` documents the format. Everything goes over the REST API, so that it works
against any server; nothing here imports the rest of the package.
"""

from placement.loader.apply import Progress, Summary, apply
from placement.loader.client import LoadError, PlacementClient, RefusedError
from placement.loader.cloudfile import Cloud, Inventory, Provider, load_file
from placement.loader.command import load_cloud
from placement.loader.document import CloudFileError

__all__ = [
    "Cloud",
    "CloudFileError",
    "Inventory",
    "LoadError",
    "PlacementClient",
    "Progress",
    "Provider",
    "RefusedError",
    "Summary",
    "apply",
    "load_cloud",
    "load_file",
]
