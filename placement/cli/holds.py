"""The commands `placement-manage holds`, which list and release the holds in the database."""

import json
from datetime import UTC, datetime
from typing import Any

from oslo_config import cfg
from prettytable import PrettyTable

from placement.cli.database import connect
from placement.objects import holds
from placement.objects.consumer_list import ListedConsumer
from placement.runtime.messages import escaped


def set_up_list(parser: Any) -> None:
    parser.set_defaults(action=_list)
    parser.add_argument("--json", action="store_true", help="print the holds as JSON")


def set_up_release(parser: Any) -> None:
    parser.description = (
        "Before a switch to software without holds, release "
        "all holds with --all. Otherwise, their allocations remain until a client deletes them."
    )
    parser.set_defaults(action=_release)
    parser.add_argument("--all", action="store_true", help="release all holds, expired or not")


def _list(conf: cfg.ConfigOpts) -> int:
    rows = [_row(each) for each in holds.find_all(connect(conf))]
    if conf.category.json:
        print(json.dumps(rows, indent=2))
        return 0
    columns = ["consumer", "project", "user", "type", "expires_at"]
    table = PrettyTable(columns, align="l")
    table.add_rows([[escaped(str(row[column])) for column in columns] for row in rows])
    print(table)
    return 0


def _row(hold: ListedConsumer) -> dict[str, str | None]:
    end = datetime.fromtimestamp(hold.expires_at or 0, UTC)
    return {
        "consumer": hold.uuid,
        "project": hold.project,
        "user": hold.user,
        "type": hold.consumer_type,
        "expires_at": end.strftime("%Y-%m-%dT%H:%M:%SZ"),
    }


def _release(conf: cfg.ConfigOpts) -> int:
    """Release holds and print their number. Return the exit code."""
    database = connect(conf)
    release = holds.release_all if conf.category.all else holds.release_expired
    print(f"released: {release(database)} holds")
    return 0
