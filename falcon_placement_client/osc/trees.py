"""The command `openstack placement tree`, for trees of providers."""

from collections.abc import Iterator, Sequence
from typing import Any

from falcon_placement_client import trees
from falcon_placement_client.commands.command import Cell, Command, Lister, Output
from falcon_placement_client.commands.over_rest import NEGATIVE, Call
from falcon_placement_client.inventory import InventoryRecord
from falcon_placement_client.messages import escaped
from falcon_placement_client.osc.base import command_of, read_file
from falcon_placement_client.trees import AppliedRow, ChangeRow, ProviderRow

BAR = 20  # columns
_FULL, _EMPTY = "█", "░"


@command_of
class ShowTree(Lister):
    """Show the tree of a provider with its inventories and use.

    Tables show the capacity of each inventory. JSON and YAML are complete, so their output can be
    edited, compared by `tree diff` and written by `tree apply`.
    """

    example = "placement tree show compute-1 -f yaml > compute-1.yaml"

    def add_arguments(self, parser: Any) -> None:
        parser.add_argument("provider", help="name or UUID of any provider of the tree")

    def output(self, call: Call) -> Output:
        rows = trees.show_tree(call.api, call.options.provider)
        shown = [row._replace(inventories=_inventories(row)) for row in rows]
        return Output(ProviderRow._fields, shown)


def _inventories(row: ProviderRow) -> Any:
    """Return the inventories of a provider. In tables, they show the capacity of each class."""
    capacities = (f"{name}={record.capacity}" for name, record in _records(row).items())
    return Cell(row.inventories, ", ".join(capacities))


def _records(row: ProviderRow) -> dict[str, InventoryRecord]:
    return {name: InventoryRecord(**each) for name, each in row.inventories.items()}  # type: ignore[arg-type]


@command_of
class DrawTree(Command):
    """Draw the tree of a provider in the terminal, with a bar for the use of each class."""

    example = "placement tree draw compute-1"

    def add_arguments(self, parser: Any) -> None:
        parser.add_argument("provider", help="name or UUID of any provider of the tree")
        parser.add_argument("--traits", action="store_true", help="show the traits, too")

    def run(self, call: Call) -> int:
        rows = trees.show_tree(call.api, call.options.provider)
        call.print("\n".join(picture(rows, with_traits=call.options.traits)))
        return 0


class _FileCommand(Lister):
    def add_arguments(self, parser: Any) -> None:
        parser.add_argument(
            "file",
            help="YAML or JSON: rows of `tree show`, or a body of PUT /provider_trees; - for "
            "standard input",
        )
        parser.add_argument(
            "--prune", action="store_true", help="delete providers that the file does not list"
        )


@command_of
class DiffTree(_FileCommand):
    """Show the changes that applying a file would make to its tree.

    The exit code is 3 if there are changes.
    """

    example = "placement tree diff compute-1.yaml"

    def output(self, call: Call) -> Output:
        document = read_file(call.options.file)
        rows = trees.diff_tree(call.api, document, prune=call.options.prune)
        return Output(ChangeRow._fields, rows, NEGATIVE if rows else 0)


@command_of
class ApplyTree(_FileCommand):
    """Change a tree to match a file, in one transaction.

    Parts that are not in the file stay as they are. If the file has generations, the command fails
    if the tree has changed since the file was written. Claims change generations, too. Needs
    placement 2.0.
    """

    example = "placement tree apply compute-1.yaml --dry-run"

    def add_arguments(self, parser: Any) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "--create-names",
            action="store_true",
            help="create custom resource classes and traits that do not exist",
        )
        parser.add_argument(
            "--ignore-generations",
            action="store_true",
            help="apply the file even if the tree has changed since it was written",
        )
        parser.add_argument(
            "--dry-run", action="store_true", help="print what would change, and change nothing"
        )

    def output(self, call: Call) -> Output:
        rows = trees.apply_tree(
            call.api,
            read_file(call.options.file),
            prune=call.options.prune,
            create_names=call.options.create_names,
            check_generations=not call.options.ignore_generations,
            dry_run=call.options.dry_run,
        )
        return Output(AppliedRow._fields, rows)


def picture(rows: Sequence[ProviderRow], *, with_traits: bool = False) -> Iterator[str]:
    """Yield the lines of a picture: each provider, with a bar for the usage of each class.

    Args:
        rows: the providers of one tree, each parent before its children.
        with_traits: whether traits are listed, too.
    """
    children: dict[str | None, list[ProviderRow]] = {}
    for row in rows:
        children.setdefault(row.parent_provider_uuid, []).append(row)
    for root in children.get(None, []):
        yield escaped(root.name)
        yield from _below(root, children, "", with_traits)


def _below(
    provider: ProviderRow,
    children: dict[str | None, list[ProviderRow]],
    indent: str,
    with_traits: bool,
) -> Iterator[str]:
    """Yield the content of a provider, and the providers below it."""
    below = children.get(provider.uuid, [])
    margin = f"{indent}{'│' if below else ' '}   "
    yield from (f"{margin}{text}" for text in _uses(provider))
    if with_traits and provider.traits:
        yield f"{margin}{' '.join(provider.traits)}"
    for child in below:
        is_last = child is below[-1]
        yield f"{indent}{'└' if is_last else '├'}── {escaped(child.name)}"
        yield from _below(child, children, f"{indent}{' ' if is_last else '│'}   ", with_traits)


def _uses(provider: ProviderRow) -> Iterator[str]:
    records = _records(provider)
    width = max(map(len, records), default=0)
    for name, record in records.items():
        used, capacity = provider.used[name], record.capacity
        # A bar is full only if no unit is free, and empty only if no unit is used.
        share = used * BAR // capacity if capacity > 0 else BAR
        filled = min(BAR, max(share, 1 if used else 0))
        bar = _FULL * filled + _EMPTY * (BAR - filled)
        yield f"{name:<{width}}  {bar}  {used:,} of {capacity:,}"
