"""Parts of commands that `openstack` and `placement-manage` share: arguments and lines."""

import json
from collections.abc import Sequence
from typing import Any

from falcon_placement_client.hosts import DEFAULT_TRAIT, HostRow
from falcon_placement_client.watching import INTERVAL, WatchedTree

NEGATIVE = 3  # exit code for a negative result, such as a host that cannot be emptied
HOST_COLUMNS = ("uuid", "name", "taints")


def add_trait(parser: Any) -> None:
    """Add the trait of hosts in maintenance."""
    parser.add_argument(
        "--trait",
        default=DEFAULT_TRAIT,
        help=f"trait of hosts in maintenance (default: {DEFAULT_TRAIT})",
    )


def add_by_aggregate(parser: Any) -> None:
    """Add the option for separate rows of headroom."""
    parser.add_argument(
        "--by-aggregate", action="store_true", help="add a row for each aggregate of hosts"
    )


def add_polling(parser: Any) -> None:
    """Add the options of a watch."""
    parser.add_argument("--json", action="store_true", help="print each change as a JSON object")
    parser.add_argument(
        "--interval",
        type=float,
        default=INTERVAL,
        metavar="SECONDS",
        help=f"seconds between two polls (default: {INTERVAL:g})",
    )


def add_dump(parser: Any) -> None:
    """Add the file of a dump, and what it contains."""
    parser.add_argument("file", nargs="?", default="-", help="default: standard output")
    parser.add_argument("--without-consumers", action="store_true", help="omit the allocations")
    parser.add_argument("--force", action="store_true", help="replace the file if it exists")


def add_load(parser: Any) -> Any:
    """Add the file to load. Return the group of the options that state whether to load it."""
    parser.add_argument("file", help="cloud file (YAML); see etc/demo-cloud.yaml for the format")
    chosen = parser.add_mutually_exclusive_group()
    chosen.add_argument("--yes", action="store_true", help="load although the server has providers")
    chosen.add_argument(
        "--dry-run", action="store_true", help="print what would change, and change nothing"
    )
    return chosen


def warnings(rows: Sequence[HostRow], trait: str) -> list[str]:
    """Return a warning for each host that has a trait which is no taint of the service."""
    return [
        f"{trait} is no taint of the service, so searches still find {row.name}: "
        "add it to [placement] taints of all servers"
        for row in rows
        if row.is_taint is False
    ]


def change_text(tree: WatchedTree, name: str, *, as_json: bool) -> str:
    """Return a changed tree as a line, or as a JSON object."""
    if as_json:
        return json.dumps({"uuid": tree.uuid, "name": name, "event": tree.event})
    return f"{tree.event:<7} {tree.uuid} {escaped(name)}"


def escaped(text: str) -> str:
    r"""Return the text with line breaks, control and format characters as `\n` or `\x1b`."""
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode() for char in text
    )
