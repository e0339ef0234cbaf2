"""The command `openstack placement cloud`, for cloud files."""

import argparse
import sys
from pathlib import Path

from osc_lib import exceptions

from falcon_placement_client import loader
from falcon_placement_client.osc.base import PlacementCommand


class DumpCloud(PlacementCommand):
    """Write all data of the service to a cloud file."""

    example = "placement cloud dump cloud.yaml"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Add the file and the options."""
        parser.add_argument("file", nargs="?", default="-", help="default: standard output")
        parser.add_argument("--without-consumers", action="store_true", help="omit allocations")
        parser.add_argument("--force", action="store_true", help="replace the file if it exists")

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
        parser.add_argument("file", help="YAML, as `placement cloud dump` writes it")
        chosen = parser.add_mutually_exclusive_group()
        chosen.add_argument(
            "--yes", action="store_true", help="load although the service has providers"
        )
        chosen.add_argument(
            "--dry-run", action="store_true", help="print what would change, and change nothing"
        )

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        """Load the file, or print what would change."""
        if not parsed_args.dry_run and not parsed_args.yes and self._has_providers():
            raise exceptions.CommandError(
                f"{self.api.url} has providers already: --yes loads the file anyway"
            )
        load = loader.preview_load if parsed_args.dry_run else loader.load_cloud
        self.exit_code = load(parsed_args.file, None, self.adapter, out=sys.stderr)

    def _has_providers(self) -> bool:
        return bool(self.api.items("/resource_providers", "resource_providers"))
