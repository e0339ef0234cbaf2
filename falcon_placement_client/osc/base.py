"""The base classes of the commands. Help contains examples, and errors are one line.

The exit code is 0 for success, 1 for an error, 2 for invalid arguments, and 3 for a negative
result: no host fits, a tree differs, or a host cannot be emptied.
"""

import argparse
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from keystoneauth1.exceptions import ClientException
from osc_lib import exceptions
from osc_lib.cli.format_columns import DictColumn, ListColumn
from osc_lib.command import command

from falcon_placement_client.command_parts import NEGATIVE
from falcon_placement_client.errors import ClientError, RefusedError, reason

if TYPE_CHECKING:
    from keystoneauth1.adapter import Adapter

    from falcon_placement_client.command_client import RestClient

NO_CANDIDATES = "placement.no_candidates"


class PlacementCommand(command.Command):
    """A command of this plugin."""

    # An example of the command for its help, without `openstack`.
    example: ClassVar[str] = ""

    # Exit code unless the command fails.
    exit_code = 0

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Add the arguments of the command to its parser."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Return the parser. Descriptions and examples keep their line breaks."""
        parser = super().get_parser(prog_name)
        usual: Any = parser.formatter_class
        formatter: Any = type("ExampleFormatter", (argparse.RawDescriptionHelpFormatter, usual), {})
        parser.formatter_class = formatter
        self.add_arguments(parser)
        return parser

    def get_epilog(self) -> str:
        """Return the text after the arguments, which is the example."""
        return f"example:\n  openstack {self.example}\n\n{super().get_epilog()}"

    @property
    def api(self) -> "RestClient":
        """The service."""
        manager: Any = self.app.client_manager
        client: RestClient = manager.falcon_placement
        return client

    @property
    def adapter(self) -> "Adapter":
        """The adapter of the service."""
        return self.api.adapter

    def run(self, parsed_args: argparse.Namespace) -> int:
        """Run the command. Return its exit code.  Raises CommandError."""
        try:
            return super().run(parsed_args) or self.exit_code
        except RefusedError as refusal:
            if refusal.code == NO_CANDIDATES:
                self.log.error("%s", refusal.detail)
                return NEGATIVE
            raise exceptions.CommandError(refusal.detail) from refusal
        except ClientError as error:
            raise exceptions.CommandError(" ".join(str(error).split())) from error
        except ClientException as error:
            raise exceptions.CommandError(reason(error)) from error


class ListCommand(PlacementCommand, command.Lister):
    """A command that prints rows."""


class ShowCommand(PlacementCommand, command.ShowOne):
    """A command that prints one row."""


def table(
    columns: Sequence[str], rows: Iterable[Sequence[Any]]
) -> tuple[Sequence[str], list[tuple[Any, ...]]]:
    """Return rows in the form that cliff expects. Mappings and lists are readable in tables.

    Args:
        columns: names of the columns, such as `ROW._fields` of a named tuple.
        rows: a value for each column.
    """
    return columns, [tuple(map(_column, row)) for row in rows]


def _column(value: Any) -> Any:
    if isinstance(value, Mapping):
        return DictColumn(dict(value))
    return ListColumn(list(value)) if isinstance(value, list | tuple) else value
