"""Commands for cloud files: load, dump and draw."""

import sys
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

from falcon_placement_client.command_client import RestClient
from falcon_placement_client.commands.command import Command
from falcon_placement_client.commands.over_rest import Call, seconds
from falcon_placement_client.drawing import draw
from falcon_placement_client.errors import RestError
from falcon_placement_client.loader import (
    Cloud,
    LoadError,
    dump_cloud,
    load_cloud,
    load_file,
    other_providers,
    preview,
    provider_uuids,
)
from falcon_placement_client.messages import fail
from falcon_placement_client.yamlfile.problems import Problem, UnusableFile

_FILE = "cloud file (YAML); see etc/demo-cloud.yaml for the format"
UNNAMED = (
    "load-cloud changes the server: name it with --url or --os-cloud, or name a cloud in the "
    "environment (OS_CLOUD, or OS_AUTH_URL)"
)


class _CloudFile(Command):
    def add_arguments(self, parser: Any) -> None:
        parser.add_argument(
            "--wait", type=seconds, default=0.0, help="seconds to wait for the server to respond"
        )


class LoadCloud(_CloudFile):
    """Create and change providers and consumers as a cloud file describes them.

    Nothing is deleted. If the service already has providers, --yes or --dry-run is required, or the
    command asks.
    """

    example = "placement cloud load cloud.yaml --dry-run"
    description = (
        "The server must be given by --url, --os-cloud or the environment. If it has providers "
        "already, the command asks before it writes."
    )
    is_server_named = True

    def add_arguments(self, parser: Any) -> None:
        parser.add_argument("file", help=_FILE)
        chosen = parser.add_mutually_exclusive_group()
        chosen.add_argument(
            "--yes", action="store_true", help="load although the server has providers"
        )
        chosen.add_argument(
            "--dry-run", action="store_true", help="print what would change, and change nothing"
        )
        chosen.add_argument(
            "--if-empty", action="store_true", help="do nothing if the server has other providers"
        )
        super().add_arguments(parser)

    def run(self, call: Call) -> int:
        if not call.is_named:
            raise RestError(UNNAMED)
        options = call.options
        check = (
            preview if options.dry_run else other_providers if options.if_empty else _unconfirmed
        )
        return load_cloud(
            *(options.file, call.url, call.identity),
            objection=None if options.yes else check,
            wait=options.wait,
        )


class DumpCloud(_CloudFile):
    """Write all data of the service to a cloud file."""

    example = "placement cloud dump cloud.yaml"

    def add_arguments(self, parser: Any) -> None:
        parser.add_argument("file", nargs="?", default="-", help="default: standard output")
        parser.add_argument("--without-consumers", action="store_true", help="omit the allocations")
        parser.add_argument("--force", action="store_true", help="replace the file if it exists")
        super().add_arguments(parser)

    def run(self, call: Call) -> int:
        options = call.options
        if options.file != "-" and not options.force and Path(options.file).exists():
            raise RestError(f"{options.file}: exists; --force replaces it")
        return dump_cloud(
            *(call.url, call.identity),
            path=options.file,
            with_consumers=not options.without_consumers,
            wait=options.wait,
        )


def _unconfirmed(_cloud: Cloud, client: RestClient) -> str:
    """Return "" if the server is empty or the operator has typed yes.  Raises LoadError."""
    count = len(provider_uuids(client))
    if not count:
        return ""
    finding = f"{client.url} has {count:,} providers already"
    if not sys.stdin.isatty():
        raise LoadError(f"{finding}: use --yes to load the file anyway; nothing was loaded")
    try:
        typed = input(f"{finding}. Type yes to load the file: ")
    except EOFError:
        print()
        typed = ""
    if typed.strip().lower() != "yes":
        raise LoadError("nothing was loaded")
    return ""


def set_up_draw(parser: Any) -> None:
    """Add the arguments and the action of `draw-cloud` to its parser."""
    parser.set_defaults(action=_draw)
    parser.add_argument("file", help=_FILE)
    parser.add_argument(
        "picture", nargs="?", default="-", help="file for the picture (default: standard output)"
    )
    parser.add_argument(
        "--only", action="append", help="draw only the tree of this root; may be repeated"
    )
    parser.add_argument("--all", action="store_true", help="draw equal trees separately, too")
    parser.add_argument("--title", default="", help="text alternative of the picture")


def _draw(conf: Any) -> int:
    options = conf.category
    try:
        cloud = load_file(options.file)
        if options.only:
            cloud = only(cloud, options.only)
    except UnusableFile as error:
        fail(error)
        return 1
    picture = draw(cloud, title=options.title, collapse=not options.all)
    if options.picture == "-":
        sys.stdout.write(picture)
        return 0
    try:
        Path(options.picture).write_text(picture, encoding="utf-8")
    except OSError as error:
        fail(f"{options.picture}: cannot be written: {error.strerror}")
        return 1
    return 0


def only(cloud: Cloud, names: list[str]) -> Cloud:
    """Return the trees whose roots have these names.  Raises UnusableFile."""
    trees = {tree[0].name: tree for tree in cloud.trees()}
    for name in names:
        if name not in trees:
            raise UnusableFile(cloud.source, [Problem(0, "", f"no root has the name {name!r}")])
    providers = (tree for name, tree in trees.items() if name in names)
    return replace(cloud, providers=tuple(chain.from_iterable(providers)))
