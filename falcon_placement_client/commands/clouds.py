"""The commands `placement-manage load-cloud`, `dump-cloud` and `draw-cloud` for cloud files."""

import sys
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

from falcon_placement_client.command_client import RestClient
from falcon_placement_client.command_parts import add_dump, add_load
from falcon_placement_client.commands import over_rest
from falcon_placement_client.drawing import draw
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
from falcon_placement_client.yamlfile.problems import Problem, UnusableFile

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
    _add_server(parser, named=True)
    add_load(parser).add_argument(
        "--if-empty", action="store_true", help="do nothing if the server has other providers"
    )


def set_up_dump(parser: Any) -> None:
    """Add the arguments and the action of `dump-cloud` to its parser."""
    parser.set_defaults(action=_dump)
    add_dump(parser)
    _add_server(parser)


def _add_server(parser: Any, *, named: bool = False) -> None:
    over_rest.add_server(parser, named=named)
    parser.add_argument(
        "--wait", type=float, default=0.0, help="seconds to wait for the server to respond"
    )


def _load(conf: Any) -> int:
    """Load the file, or preview the changes. Return the exit code."""
    options = conf.category
    if not over_rest.is_named(options):
        over_rest.fail(UNNAMED)
        return 1
    check = preview if options.dry_run else other_providers if options.if_empty else _unconfirmed
    where = options.url, over_rest.caller(options)
    objection = None if options.yes else check
    return load_cloud(options.file, *where, objection=objection, wait=options.wait)


def _unconfirmed(_cloud: Cloud, client: RestClient) -> str:
    """Return "" if the server is empty or the operator has typed yes.  Raises LoadError."""
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
        over_rest.fail(f"{options.file}: exists; --force replaces it")
        return 1
    return dump_cloud(
        options.url,
        over_rest.caller(options),
        path=options.file,
        with_consumers=not options.without_consumers,
        wait=options.wait,
    )


def set_up_draw(parser: Any) -> None:
    """Add the arguments and the action of `draw-cloud` to its parser."""
    parser.set_defaults(action=_draw)
    parser.add_argument("file", help="cloud file (YAML); see etc/demo-cloud.yaml for the format")
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
        over_rest.fail(error)
        return 1
    picture = draw(cloud, title=options.title, collapse=not options.all)
    if options.picture == "-":
        sys.stdout.write(picture)
        return 0
    try:
        Path(options.picture).write_text(picture, encoding="utf-8")
    except OSError as error:
        over_rest.fail(f"{options.picture}: cannot be written: {error.strerror}")
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
