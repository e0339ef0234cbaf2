"""The command `placement-manage reshape`, which transforms provider trees offline.

The exit code is 0 if all trees match the file, 1 if a change was refused, and 130 if the command
was interrupted.
"""

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from keystoneauth1.exceptions import ClientException

from falcon_placement_client import service
from falcon_placement_client.commands import over_rest
from falcon_placement_client.errors import ClientError
from falcon_placement_client.messages import escaped, fail
from falcon_placement_client.progress import progress
from falcon_placement_client.reshape.draft import Misfit
from falcon_placement_client.reshape.reshapefile import Transformation, load_transformation
from falcon_placement_client.reshape.run import Reshape, Survey
from falcon_placement_client.yamlfile.problems import UnusableFile


def set_up(parser: Any) -> None:
    """Add the arguments and the action of the command to its parser."""
    parser.description = (
        "Works directly on the configured database. Stop all services first. If it is interrupted, "
        "run it again: it continues with the remaining trees."
    )
    parser.set_defaults(action=_reshape)
    parser.add_argument("file", help="reshape file (YAML); see etc/reshape for examples")
    parser.add_argument("--dry-run", action="store_true", help="show the changes, write nothing")


def _reshape(conf: Any) -> int:
    """Transform the trees, or show the changes. Return the exit code."""
    options = conf.category
    try:
        transformation = load_transformation(options.file)
    except UnusableFile as error:
        fail(error)
        return 1
    direct = service.load("direct", "reshape")
    with _without_info(), direct.PlacementDirect(conf) as adapter:
        try:
            return _run(Reshape(adapter, transformation), transformation, options.dry_run)
        except KeyboardInterrupt:
            fail("interrupted; run it again to continue with the remaining trees")
            return 130
        except (ClientError, ClientException, Misfit) as error:
            fail(f"{error}\nrun it again to continue with the remaining trees")
            return 1


@contextmanager
def _without_info() -> Iterator[None]:
    """Suppress log lines of the service for each request, and of the client for each tree."""
    log = logging.getLogger("placement")
    level = log.level
    log.setLevel(max(level, logging.WARNING))
    try:
        yield
    finally:
        log.setLevel(level)


def _run(reshape: Reshape, transformation: Transformation, dry_run: bool) -> int:
    survey = reshape.survey(progress("checking", sys.stderr))
    if survey.complaints:
        _print_complaints(survey, transformation)
        return 1
    if not survey.tally.trees:
        print(f"{transformation.source}: no tree matches, nothing to do")
        return 0
    rows = [(*row[:2], *(_change(*pair) for pair in row[2:])) for row in survey.tally.rows()]
    if rows:
        print(over_rest.table_text(("class", "of", "providers", "total", "used"), rows), flush=True)
    if dry_run:
        print(f"{_trees(survey.tally.trees)} would be reshaped; nothing was changed")
        return 0
    print(f"{_trees(reshape.run(progress('reshaping', sys.stderr)))} reshaped")
    return 0


def _trees(count: int) -> str:
    return f"{count:,} tree{'' if count == 1 else 's'}"


def _print_complaints(survey: Survey, transformation: Transformation) -> None:
    lines = [escaped(complaint) for complaint in survey.complaints]
    more = survey.misfits - len(survey.complaints)
    if more > 0:
        lines.append(f"{transformation.source}: and {more} more")
    fail("\n".join([*lines, "nothing was changed"]))


def _change(before: int, after: int) -> str:
    return f"{before:,} -> {after:,}" if before != after else f"{before:,}"
