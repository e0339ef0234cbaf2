"""Permissions of a database file."""

import os
import re
from pathlib import Path

import pytest

from placement.db.engine import Database
from placement.entry.app import migrate
from placement.errors import ConfigurationError
from tests.kit.builders import settings


def test_only_the_owner_reads_a_new_sqlite_file_and_its_companions(tmp_path: Path) -> None:
    former = os.umask(0o022)
    try:
        database = Database(settings(f"sqlite:///{tmp_path}/placement.db").database)
        migrate(database)
        with database.read():
            modes = {path.name: path.stat().st_mode & 0o777 for path in tmp_path.iterdir()}
        database.dispose()
    finally:
        os.umask(former)
    assert modes == {
        "placement.db": 0o600, "placement.db-wal": 0o600, "placement.db-shm": 0o600,
    }  # fmt: skip


def test_the_mode_of_a_file_that_is_there_stays(tmp_path: Path) -> None:
    path = tmp_path / "placement.db"
    path.touch(0o640)
    database = Database(settings(f"sqlite:///{path}").database)
    migrate(database)
    database.dispose()
    assert path.stat().st_mode & 0o777 == 0o640


def test_a_directory_that_is_missing_is_said_in_one_line(tmp_path: Path) -> None:
    database = Database(settings(f"sqlite:///{tmp_path}/missing/placement.db").database)
    with pytest.raises(ConfigurationError, match=r"unable to open database file$"):
        database.connect_first()


def test_a_relative_path_that_is_missing_is_absolute_in_the_error() -> None:
    database = Database(settings("sqlite:///missing/placement.db").database)
    absolute = re.escape(f"{Path.cwd()}/missing/placement.db: after three slashes, the path is")
    with pytest.raises(ConfigurationError, match=f"file {absolute}.* sqlite:////missing/"):
        database.connect_first()
