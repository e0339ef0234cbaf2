"""Faults of a database that no retry mends: what is wrong, and what an operator can do."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy import exc

from placement.db import codes, dialect
from placement.errors import DatabaseUnusable


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong, in words that a client may read too, and what mends it."""

    reason: str
    remedy: str


RIGHT = Fault("a right is missing", "grant it to the user of [placement_database] connection")
LOGIN = Fault(
    "the service is not let in", "see user, password and database in [placement_database]"
)
SHAPE = Fault("a table or column is missing", "run placement-manage db sync")
FILE = Fault("the file is no database", "restore it, or name another in [placement_database]")

# MySQL and MariaDB have integers, PostgreSQL five characters, SQLite names.
CODES: Mapping[object, Fault] = {
    **dict.fromkeys((1142, 1143, 1227, "42501"), RIGHT),
    **dict.fromkeys(
        ("SQLITE_READONLY", "SQLITE_READONLY_DBMOVED", "SQLITE_READONLY_DIRECTORY", "SQLITE_PERM"),
        RIGHT,
    ),
    **dict.fromkeys((1044, 1045, 1049, 1698, "28000", "28P01", "3D000"), LOGIN),
    **dict.fromkeys((1054, 1146, "42P01", "42703", "3F000"), SHAPE),
    **dict.fromkeys(("SQLITE_NOTADB", "SQLITE_CORRUPT"), FILE),
}

# Where drivers have no code: all that SQLite cannot compile is SQLITE_ERROR, and what PostgreSQL
# answers while a connection is made comes as a text.
TEXTS: Mapping[re.Pattern[str], Fault] = {
    re.compile("^no such (table|column)|has no column named"): SHAPE,
    re.compile("FATAL: +(password authentication|role .* does not|database .* does not)"): LOGIN,
    re.compile("FATAL: +(no pg_hba.conf entry|permission denied)"): LOGIN,
}


def fault(error: exc.DBAPIError) -> Fault | None:
    """What is wrong for good, or None: it may pass."""
    for code in codes.of(error.orig):
        if code in CODES:
            return CODES[code]
    text = str(error.orig)
    return next((each for form, each in TEXTS.items() if form.search(text)), None)


def unusable(error: exc.DBAPIError) -> DatabaseUnusable | None:
    """The domain error for a fault that lasts, or None."""
    found = fault(error)
    if found is None:
        return None
    command = (error.statement or "CONNECT").split(maxsplit=1)[0]
    complaint = dialect.one_line(error).partition(" LINE 1: ")[0]
    return DatabaseUnusable(found.reason, f"{command}: {complaint}; {found.remedy}")
