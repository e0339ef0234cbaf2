"""How long commands wait for a database that does not respond."""

from __future__ import annotations

from typing import Any

import pytest

from placement import cli
from placement.db.engine import COMMAND_PATIENCE, Database
from placement.errors import ConfigurationError


@pytest.mark.parametrize(
    ("command", "patience"),
    [
        ("db sync", None),
        ("db online_data_migrations", None),
        ("db check", COMMAND_PATIENCE),
        ("db version", COMMAND_PATIENCE),
        ("audit", COMMAND_PATIENCE),
    ],
)
def test_only_commands_of_a_deployment_wait_as_long_as_the_service(
    monkeypatch: pytest.MonkeyPatch, command: str, patience: float | None
) -> None:
    waits = []

    def connect_first(_database: Database, **stated: Any) -> None:
        waits.append(stated["patience"])
        raise ConfigurationError("no database")

    monkeypatch.setenv("OS_PLACEMENT_DATABASE__CONNECTION", "sqlite:////nowhere/p.db")
    monkeypatch.setattr(Database, "connect_first", connect_first)
    assert cli.main(command.split()) == 1
    assert waits == [patience]
