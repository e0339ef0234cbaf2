"""Load and dump cloud files, which describe clouds in YAML.

`cloudfile` documents the format. The package only uses the REST API, so it works with any server.
It shares only the vocabulary and the limits of the API with the service.
"""

from placement.loader.apply import Summary, apply
from placement.loader.cloud import Cloud, CloudConsumer, CloudProvider
from placement.loader.cloudfile import load_file
from placement.loader.command import (
    dump_cloud,
    load_cloud,
    other_providers,
    preview_load,
    provider_uuids,
)
from placement.loader.dump import fetch
from placement.loader.outcomes import LoadError, LoadOutcome
from placement.loader.writing import lines
from placement.progress import Progress
from placement.yamlfile.problems import UnusableFile

__all__ = [
    "Cloud",
    "CloudConsumer",
    "UnusableFile",
    "CloudProvider",
    "LoadError",
    "LoadOutcome",
    "Progress",
    "Summary",
    "apply",
    "dump_cloud",
    "fetch",
    "lines",
    "load_cloud",
    "load_file",
    "other_providers",
    "preview_load",
    "provider_uuids",
]
