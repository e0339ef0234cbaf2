"""Commands of `openstack`, made from their descriptions. Errors are one line.

The exit code is 0 for success, 1 for an error, 2 for invalid arguments, and 3 for a negative
result: no host fits, a tree differs, a host cannot be emptied, or two services differ.
"""

import argparse
from collections.abc import Mapping
from typing import Any, ClassVar

from cliff.columns import FormattableColumn
from keystoneauth1.exceptions import ClientException
from osc_lib import exceptions
from osc_lib.cli.format_columns import DictColumn
from osc_lib.command import command
from osc_lib.utils import format_list

from falcon_placement_client.commands.command import Cell, Command, Lister, Output
from falcon_placement_client.commands.over_rest import NEGATIVE, USAGE, Call, UsageError
from falcon_placement_client.errors import ClientError, RefusedError, reason
from falcon_placement_client.messages import escaped
from falcon_placement_client.suggestions import suggest_options
from falcon_placement_client.yamlfile.problems import UnusableFile

NO_CANDIDATES = "placement.no_candidates"
INSTALL = "pip install 'falcon-placement-client[openstack]'"


def command_of(described: type[Command]) -> type["_Command"]:
    """Return the command of `openstack` that a class describes."""
    base: type[_Command] = _Command
    if issubclass(described, Lister):
        base = _Row if described.is_one_row else _Rows
    members = {
        "__doc__": described.__doc__,
        "__module__": described.__module__,
        "described": described(),
    }
    return type(described.__name__, (base,), members)


def read_file(path: str) -> Any:
    """Return the value in a YAML or JSON file.  Raises CommandError if it cannot be used."""
    from falcon_placement_client.yamlfile.document import read  # noqa: PLC0415

    try:
        return read("/dev/stdin" if path == "-" else path).value
    except UnusableFile as error:
        raise exceptions.CommandError(str(error)) from None


class _Command(command.Command):
    described: ClassVar[Any]

    # Exit code unless the command fails.
    exit_code = 0

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Return the parser. Descriptions and examples keep their line breaks."""
        parser = super().get_parser(prog_name)
        usual: Any = parser.formatter_class
        formatter: Any = type("ExampleFormatter", (argparse.RawDescriptionHelpFormatter, usual), {})
        parser.formatter_class = formatter
        self.described.add_arguments(parser)
        suggest_options(parser)
        return parser

    def get_epilog(self) -> str:
        """Return the text after the arguments, which is the example."""
        return f"example:\n  openstack {self.described.example}\n\n{super().get_epilog()}"

    def run(self, parsed_args: argparse.Namespace) -> int:
        """Run the command. Return its exit code.  Raises CommandError."""
        try:
            return super().run(parsed_args) or self.exit_code
        except UsageError as error:
            self.log.error("%s", escaped(str(error)))
            return USAGE
        except RefusedError as refusal:
            if refusal.code == NO_CANDIDATES:
                self.log.error("%s", escaped(refusal.detail))
                return NEGATIVE
            raise exceptions.CommandError(escaped(refusal.detail)) from refusal
        except ClientError as error:
            raise exceptions.CommandError(escaped(" ".join(str(error).split()))) from error
        except ClientException as error:
            raise exceptions.CommandError(escaped(reason(error))) from error
        except ModuleNotFoundError as error:
            raise exceptions.CommandError(f"the command needs {error.name}: {INSTALL}") from error

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        """Run the described command, which prints its result."""
        self.exit_code = self.described.run(self._call(parsed_args))

    def _call(self, parsed_args: argparse.Namespace) -> Call:
        manager: Any = self.app.client_manager
        api = manager.falcon_placement
        if self.described.needs_v2:
            api.require_v2(self.described.needs_v2)
        return Call(parsed_args, None, api.adapter, lambda: api, True, self.app.stdout, manager)

    def _output(self, parsed_args: argparse.Namespace) -> Output:
        output: Output = self.described.output(self._call(parsed_args))
        self.exit_code = output.exit_code
        for warning in output.warnings:
            self.log.warning("%s", escaped(warning))
        return output


class _Rows(_Command, command.Lister):
    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        """Return the rows."""
        output = self._output(parsed_args)
        return output.columns, [tuple(map(_column, row)) for row in output.rows]


class _Row(_Command, command.ShowOne):
    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        """Return the row."""
        output = self._output(parsed_args)
        [row] = output.rows
        return output.columns, tuple(map(_column, row))


class _CellColumn(FormattableColumn[Cell]):
    def human_readable(self) -> str:
        """Return the text for tables, without control characters."""
        return escaped(self._value.text)

    def machine_readable(self) -> Any:
        """Return the value for other formats."""
        return self._value.value


def _column(value: Any) -> Any:
    """Return a value that is readable in tables."""
    match value:
        case Cell():
            return _CellColumn(value)
        case Mapping():
            return DictColumn(dict(value))
        case list() | tuple():
            items = [str(each) if isinstance(each, tuple) else each for each in value]
            return _CellColumn(Cell(items, format_list(items) or ""))
        case str() if not value.isprintable():
            return _CellColumn(Cell(value, value))
    return value
