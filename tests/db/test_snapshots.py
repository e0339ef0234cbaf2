"""The SQL of every statement can be read in a file that is up to date."""

from tests.db import examples, snapshots


def test_the_files_show_the_statements_as_they_are() -> None:
    outdated = [path.name for path in snapshots.outdated()]
    assert outdated == [], f"look at the change of SQL, then run {snapshots.COMMAND}"


def test_every_statement_is_shown() -> None:
    shown = {*examples.ARGUMENTS, *examples.VARIANTS, *examples.BUILT}
    assert shown == snapshots.functions().keys()
