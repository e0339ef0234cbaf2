"""A command over REST, described once for `openstack` and for `placement-manage`.

A class describes the arguments and the result. `Command.set_up` makes a command of
`placement-manage` from it, and `osc.base.command_of` makes one of `openstack`.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from falcon_placement_client.command_client import MICROVERSION
from falcon_placement_client.commands import over_rest
from falcon_placement_client.commands.over_rest import Call, json_text, table_text
from falcon_placement_client.messages import escaped
from falcon_placement_client.rest import V2


class Cell(NamedTuple):
    """A value that tables show in another form."""

    value: Any
    text: str


@dataclass(frozen=True, slots=True)
class Output:
    """The result of a command."""

    columns: Sequence[str]
    # Values can be cells, and lists of named tuples.
    rows: Sequence[Sequence[Any]]
    exit_code: int = 0
    # Printed to standard error.
    warnings: Sequence[str] = ()
    # What `placement-manage` prints in place of a table of the rows, if it is not empty.
    text: str = ""


class Command:
    """A command. The docstring of each class is its description in `openstack`."""

    # An example for the help, without `openstack`.
    example: ClassVar[str] = ""
    # Added by `placement-manage` to the line that describes the command.
    description: ClassVar[str] = ""
    # What needs placement 2.0, for the error. Empty if the command works with any version.
    needs_v2: ClassVar[str] = ""
    # Whether `placement-manage` requires that the server is named.
    is_server_named: ClassVar[bool] = False

    def add_arguments(self, parser: Any) -> None:
        """Add the arguments of the command to its parser."""

    def run(self, call: Call) -> int:
        """Run the command. Return its exit code.  Raises ClientError."""
        raise NotImplementedError

    @classmethod
    def set_up(cls, parser: Any) -> None:
        """Add the arguments and the action of the command to a parser of `placement-manage`."""
        command = cls()
        command.add_arguments(parser)
        version = V2 if cls.needs_v2 else MICROVERSION
        over_rest.set_up(parser, command.run, version, named=cls.is_server_named)
        parser.description = cls.description


class Lister(Command):
    """A command with rows as its result."""

    # Whether there is always one row, which `openstack` shows as a column.
    is_one_row: ClassVar[bool] = False

    def output(self, call: Call) -> Output:
        """Return the result.  Raises ClientError."""
        raise NotImplementedError

    def run(self, call: Call) -> int:
        """Print the result. Return the exit code."""
        return self.show(call, self.output(call))

    def show(self, call: Call, output: Output) -> int:
        """Print a result as a table, a text or JSON. Return the exit code."""
        if call.options.json:
            names = output.columns
            rows = [dict(zip(names, map(_member, row), strict=True)) for row in output.rows]
            call.print(json_text(rows))
        else:
            shown = [tuple(map(_text, row)) for row in output.rows]
            call.print(output.text or table_text(output.columns, shown))
        for warning in output.warnings:
            print(escaped(warning), file=sys.stderr)
        return output.exit_code

    @classmethod
    def set_up(cls, parser: Any) -> None:
        """Add the arguments and the action, and the choice of a format."""
        super().set_up(parser)
        parser.add_argument("--json", action="store_true", help="print the result as JSON")


def _member(value: Any) -> Any:
    """Return a value of a row in the form that JSON takes."""
    match value:
        case Cell():
            return value.value
        case list() | tuple():
            return [each._asdict() if hasattr(each, "_asdict") else each for each in value]
    return value


def _text(value: Any) -> str:
    match value:
        case Cell():
            return value.text
        case list() | tuple():
            return ", ".join(map(str, value))
    return str(value)
