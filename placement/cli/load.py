"""`placement-manage load-cloud`: a cloud file, loaded into a server."""

from typing import Any

from oslo_config import cfg

from placement.cli import server
from placement.loader import load_cloud


def add_command(subparsers: Any) -> None:
    """Add the command to those of `placement-manage`."""
    parser = subparsers.add_parser("load-cloud", help="load a cloud file into a server over REST")
    parser.set_defaults(action=_load)
    parser.add_argument("file", help="YAML; etc/demo-cloud.yaml shows the format")
    server.add_arguments(parser)
    parser.add_argument(
        "--if-empty", action="store_true", help="do nothing on a server that has other providers"
    )
    parser.add_argument(
        "--wait", type=float, default=0.0, help="seconds to wait for the server to answer"
    )


def _load(conf: cfg.ConfigOpts) -> int:
    options = conf.category
    return load_cloud(
        options.file, options.url, options.token, if_empty=options.if_empty, wait=options.wait
    )
