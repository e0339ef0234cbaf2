"""The commands `placement-manage load-cloud` and `dump-cloud` for cloud files."""

import sys
from pathlib import Path
from typing import Any

from falcon_placement_client.command_client import RestClient
from falcon_placement_client.commands import console, server
from falcon_placement_client.loader import (
    Cloud,
    LoadError,
    dump_cloud,
    load_cloud,
    other_providers,
    preview_load,
    provider_uuids,
)

UNNAMED = (
    "load-cloud changes the server: name it with --url or --os-cloud, or name a cloud in the "
    "environment (OS_CLOUD, or OS_AUTH_URL)"
)


def set_up_load(parser: Any) -> None:
    """Add the arguments and the action of `load-cloud` to its parser."""
    parser.set_defaults(action=_load)
    parser.description = (
        "The server must be given by --url, --os-cloud or the environment. If it has providers "
        "already, the command asks before it writes."
    )
    parser.add_argument("file", help="cloud file (YAML); see etc/demo-cloud.yaml for the format")
    _add_server(parser, named=True)
    chosen = parser.add_mutually_exclusive_group()
    chosen.add_argument(
        "--if-empty", action="store_true", help="do nothing if the server has other providers"
    )
    chosen.add_argument("--yes", action="store_true", help="do not ask if the server has providers")
    chosen.add_argument(
        "--dry-run", action="store_true", help="print what would change, and change nothing"
    )


def set_up_dump(parser: Any) -> None:
    """Add the arguments and the action of `dump-cloud` to its parser."""
    parser.set_defaults(action=_dump)
    parser.add_argument("file", nargs="?", default="-", help="default: standard output")
    _add_server(parser)
    parser.add_argument("--without-consumers", action="store_true", help="omit the allocations")
    parser.add_argument("--force", action="store_true", help="replace the file if it exists")


def _add_server(parser: Any, *, named: bool = False) -> None:
    server.add_arguments(parser, named=named)
    parser.add_argument(
        "--wait", type=float, default=0.0, help="seconds to wait for the server to respond"
    )


def _load(conf: Any) -> int:
    """Load the file, or preview the changes. Return the exit code."""
    options = conf.category
    if not server.is_named(options):
        console.fail(Exception(UNNAMED))
        return 1
    where = options.url, server.caller(options)
    if options.dry_run:
        return preview_load(options.file, *where, wait=options.wait)
    objection = other_providers if options.if_empty else None if options.yes else _unconfirmed
    return load_cloud(options.file, *where, objection=objection, wait=options.wait)


def _unconfirmed(_cloud: Cloud, client: RestClient) -> str:
    """Return "" if the server is empty or the operator has typed yes.

    Raises:
        LoadError: the operator has given another answer, or there is no terminal.
    """
    count = len(provider_uuids(client))
    if not count:
        return ""
    finding = f"{client.url} has {count:,} providers already"
    if not sys.stdin.isatty():
        raise LoadError(f"{finding}: use --yes to load the file anyway; nothing was loaded")
    try:
        answer = input(f"{finding}. Type yes to load the file: ")
    except EOFError:
        print()
        answer = ""
    if answer.strip().lower() != "yes":
        raise LoadError("nothing was loaded")
    return ""


def _dump(conf: Any) -> int:
    options = conf.category
    if options.file != "-" and not options.force and Path(options.file).exists():
        console.fail(Exception(f"{options.file}: exists; --force replaces it"))
        return 1
    return dump_cloud(
        options.url,
        server.caller(options),
        path=options.file,
        with_consumers=not options.without_consumers,
        wait=options.wait,
    )
