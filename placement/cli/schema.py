"""The commands `placement-manage db version` and `db stamp`, for the version of the schema."""

from typing import Any

from oslo_config import cfg

from placement.cli.database import connect
from placement.db import schema


def set_up_version(parser: Any) -> None:
    parser.set_defaults(action=_version)


def set_up_stamp(parser: Any) -> None:
    parser.set_defaults(action=_stamp)
    parser.add_argument("revision", help="revision of this release")


def _version(conf: cfg.ConfigOpts) -> int:
    with connect(conf).read() as conn:
        adopted = schema.adopted_version(conn)
        print(schema.version(conn) or "none", f"(tables of {adopted or 'no version'})")
    return 0


def _stamp(conf: cfg.ConfigOpts) -> int:
    # PERF: `version` does not import Alembic.
    from placement.db import revisions  # noqa: PLC0415

    connect(conf).write(lambda conn: revisions.stamp(conn, conf.category.revision))
    return 0
