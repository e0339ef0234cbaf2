"""The command `openstack placement cloud`, for cloud files."""

import argparse
import sys
from pathlib import Path

from osc_lib import exceptions

from falcon_placement_client import loader
from falcon_placement_client.command_parts import add_dump, add_load
from falcon_placement_client.osc.base import PlacementCommand


class DumpCloud(PlacementCommand):
    """Write all data of the service to a cloud file."""

    example = "placement cloud dump cloud.yaml"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Add the file and the options."""
        add_dump(parser)

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        """Write the file."""
        path = parsed_args.file
        if path != "-" and not parsed_args.force and Path(path).exists():
            raise exceptions.CommandError(f"{path}: exists; --force replaces it")
        self.exit_code = loader.dump_cloud(
            None, self.adapter, path=path, with_consumers=not parsed_args.without_consumers
        )


class LoadCloud(PlacementCommand):
    """Create and change providers and consumers as a cloud file describes them.

    Nothing is deleted. If the service already has providers, --yes or --dry-run is required.
    """

    example = "placement cloud load cloud.yaml --dry-run"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Add the file and the options."""
        add_load(parser)

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        """Load the file, or print what would change."""
        if not parsed_args.dry_run and not parsed_args.yes and loader.provider_uuids(self.api):
            raise exceptions.CommandError(
                f"{self.api.url} has providers already: --yes loads the file anyway"
            )
        objection = loader.preview if parsed_args.dry_run else None
        self.exit_code = loader.load_cloud(
            parsed_args.file, None, self.adapter, objection=objection, out=sys.stderr
        )
