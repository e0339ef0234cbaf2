"""The SQL of every statement can be read in a file that is up to date."""

import re

from tests.db import examples, snapshots

# Two columns with names or UUIDs, compared as they are.
COMPARED = re.compile(
    r"\w+\.(?:uuid|consumer_uuid|name|external_id) = \w+\.\w+|\w+\.\w+ = \w+\.uuid\b"
)


def test_the_files_show_the_statements_as_they_are() -> None:
    outdated = [path.name for path in snapshots.outdated()]
    assert outdated == [], f"look at the change of SQL, then run {snapshots.COMMAND}"


def test_every_statement_is_shown() -> None:
    shown = {*examples.ARGUMENTS, *examples.VARIANTS, *examples.BUILT}
    assert shown == snapshots.functions().keys()


def test_the_texts_of_two_tables_are_compared_in_any_character_sets() -> None:
    """MySQL and MariaDB cannot compare some of them as they are, and have no index for others."""
    compared = {
        (name, found)
        for name, each in snapshots.every_statement()
        if (found := COMPARED.search(snapshots.sql(each, snapshots.ENGINES["mysql"])))
    }
    assert compared == set()
