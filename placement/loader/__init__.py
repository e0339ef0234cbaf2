"""Cloud files: a cloud described in YAML, and how a server is brought to that state.

`cloudfile` documents the format. Everything goes over the REST API, so that it works against any
server; of the rest of the package only words and limits of the API are known here.
"""

from placement.loader.apply import LoadError, Progress, Summary, apply
from placement.loader.cloud import Cloud, CloudInventory, CloudProvider
from placement.loader.cloudfile import load_file
from placement.loader.command import load_cloud
from placement.yamlfile.problems import UnusableFile

__all__ = [
    "Cloud",
    "UnusableFile",
    "CloudInventory",
    "CloudProvider",
    "LoadError",
    "Progress",
    "Summary",
    "apply",
    "load_cloud",
    "load_file",
]
