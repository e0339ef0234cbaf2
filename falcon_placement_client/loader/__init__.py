"""Load and dump cloud files, which describe clouds in YAML.

`cloudfile` documents the format. The package only uses the REST API, so it works with any server.
"""

from falcon_placement_client.loader.apply import LoadOutcome, apply
from falcon_placement_client.loader.cloud import Cloud, CloudConsumer, LoadError
from falcon_placement_client.loader.cloudfile import load_file
from falcon_placement_client.loader.command import (
    dump_cloud,
    load,
    load_cloud,
    other_providers,
    preview,
    provider_uuids,
)
from falcon_placement_client.loader.writing import lines
from falcon_placement_client.yamlfile.problems import UnusableFile

__all__ = [
    "Cloud",
    "CloudConsumer",
    "UnusableFile",
    "LoadError",
    "LoadOutcome",
    "apply",
    "dump_cloud",
    "lines",
    "load",
    "load_cloud",
    "load_file",
    "other_providers",
    "preview",
    "provider_uuids",
]
