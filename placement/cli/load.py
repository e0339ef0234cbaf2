"""`placement-manage load-cloud` and `dump-cloud`: cloud files, into a server and out of it."""

from typing import Any

from oslo_config import cfg

from placement.cli import server
from placement.loader import dump_cloud, load_cloud, preview_load


def set_up_load(parser: Any) -> None:
    """Give the parser of `load-cloud` its arguments and its action."""
    parser.set_defaults(action=_load)
    parser.add_argument("file", help="YAML; etc/demo-cloud.yaml shows the format")
    _add_server(parser)
    parser.add_argument(
        "--if-empty", action="store_true", help="do nothing on a server that has other providers"
    )
    parser.add_argument(
        "--dry-run", action="store_true", help="print what would be changed, and change nothing"
    )


def set_up_dump(parser: Any) -> None:
    """Give the parser of `dump-cloud` its arguments and its action."""
    parser.set_defaults(action=_dump)
    parser.add_argument("file", nargs="?", default="-", help="default: standard output")
    _add_server(parser)
    parser.add_argument("--without-consumers", action="store_true", help="leave out who uses what")


def _add_server(parser: Any) -> None:
    server.add_arguments(parser)
    parser.add_argument(
        "--wait", type=float, default=0.0, help="seconds to wait for the server to answer"
    )


def _load(conf: cfg.ConfigOpts) -> int:
    options = conf.category
    where = options.url, server.caller(options)
    if options.dry_run:
        return preview_load(options.file, *where, wait=options.wait)
    return load_cloud(options.file, *where, if_empty=options.if_empty, wait=options.wait)


def _dump(conf: cfg.ConfigOpts) -> int:
    options = conf.category
    return dump_cloud(
        options.url,
        server.caller(options),
        path=options.file,
        with_consumers=not options.without_consumers,
        wait=options.wait,
    )
