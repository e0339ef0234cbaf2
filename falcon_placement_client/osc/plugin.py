"""The plugin that python-openstackclient loads (`openstack.cli.extension`).

Its name differs from `placement`, which osc-placement uses, so both can be installed. The commands
use the session, region, interface and endpoint of the program, and the identity of its caller.
"""

import argparse
from typing import TYPE_CHECKING, Any

from osc_lib import exceptions

from falcon_placement_client.identity import SERVICE_TYPE, adapter_of
from falcon_placement_client.rest import LEAST, V2, Version

if TYPE_CHECKING:
    from falcon_placement_client.command_client import RestClient

# Names that python-openstackclient expects in a plugin.
API_NAME = "falcon_placement"
API_VERSION_OPTION = "os_falcon_placement_api_version"
DEFAULT_API_VERSION = "2"  # the group of the commands in `openstack.falcon_placement.v2`
API_VERSIONS = ("2",)

# Option `--os-placement-api-version` of osc-placement, or the key of clouds.yaml.
_VERSION_KEY = "placement_api_version"
_UNSET = ("", "1", "None")  # osc-placement's default is 1


def make_client(instance: Any) -> "RestClient":
    """Return a client of the placement service of the caller's cloud.  Raises CommandError."""
    # PERF: other commands of `openstack` start faster without it.
    from falcon_placement_client.command_client import RestClient  # noqa: PLC0415

    at_most = _at_most(instance.get_configuration())
    url = instance.get_endpoint_for_service_type(
        SERVICE_TYPE, region_name=instance.region_name, interface=instance.interface
    )
    if not url:
        raise exceptions.CommandError("the cloud has no placement endpoint")
    adapter = adapter_of(instance.session, instance.region_name, instance.interface, url)
    return RestClient(None, adapter, None, at_most)


def build_option_parser(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    """Add no options. The option for the version belongs to osc-placement."""
    return parser


def _at_most(configuration: dict[str, Any]) -> Version:
    """Return the newest microversion that the caller allows. Raises CommandError."""
    stated = str(configuration.get(_VERSION_KEY) or "")
    if stated in _UNSET:
        return V2
    major, _, minor = stated.partition(".")
    if not (major.isdigit() and minor.isdigit()):
        raise exceptions.CommandError(f"{stated!r} is no version of placement, such as 1.39")
    version = int(major), int(minor)
    if version < LEAST:
        raise exceptions.CommandError(
            f"placement {stated} is too old for this command, which needs "
            f"{LEAST[0]}.{LEAST[1]} or later: see --os-placement-api-version"
        )
    return version
