"""The command `placement-manage draw-cloud`, which draws the trees of a cloud file."""

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from falcon_placement_client.commands import console
from falcon_placement_client.drawing import draw
from falcon_placement_client.loader import Cloud, load_file
from falcon_placement_client.yamlfile.problems import Problem, UnusableFile


def set_up(parser: Any) -> None:
    """Add the arguments and the action of the command to its parser."""
    parser.set_defaults(action=_draw)
    parser.add_argument("file", help="cloud file (YAML); see etc/demo-cloud.yaml for the format")
    parser.add_argument(
        "picture", nargs="?", default="-", help="file for the picture (default: standard output)"
    )
    parser.add_argument(
        "--only",
        action="append",
        help="draw only the tree of this root; may be repeated",
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
        console.fail(error)
        return 1
    picture = draw(cloud, title=options.title, collapse=not options.all)
    if options.picture == "-":
        sys.stdout.write(picture)
        return 0
    try:
        Path(options.picture).write_text(picture, encoding="utf-8")
    except OSError as error:
        console.fail(Exception(f"{options.picture}: cannot be written: {error.strerror}"))
        return 1
    return 0


def only(cloud: Cloud, names: list[str]) -> Cloud:
    """Return the trees whose roots have these names.

    Raises:
        UnusableFile: a name is not the name of a root.
    """
    roots = {
        provider.name: provider.uuid for provider in cloud.providers if provider.parent_uuid is None
    }
    for name in names:
        if name not in roots:
            raise UnusableFile(cloud.source, [Problem(0, "", f"no root has the name {name!r}")])
    uuids = {roots[name] for name in names}
    # Parents come before their children, so a single pass finds all descendants of the roots.
    for provider in cloud.providers:
        if provider.parent_uuid in uuids:
            uuids.add(provider.uuid)
    providers = tuple(provider for provider in cloud.providers if provider.uuid in uuids)
    return replace(cloud, providers=providers)
