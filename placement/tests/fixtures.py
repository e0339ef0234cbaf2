"""`Database`: a database for services that a test starts one after another."""

from typing import Any

import fixtures

from placement import config


class DatabaseFixture(fixtures.Fixture):
    """Configures a SQLite database that ends with the fixture; a starting service migrates it."""

    def __init__(self, conf_fixture: Any, set_config: bool = False) -> None:
        """Store the configuration.

        Args:
            conf_fixture: a fixture of oslo.config.
            set_config: whether a new database replaces the configured one.
        """
        super().__init__()
        self._conf_fixture = conf_fixture
        self._set_config = set_config

    def _setUp(self) -> None:  # noqa: N802 - the name in fixtures
        config.register(self._conf_fixture.conf)
        options: dict[str, object] = {"sync_on_startup": True}
        if self._set_config:
            home = self.useFixture(fixtures.TempDir()).path
            options["connection"] = f"sqlite:///{home}/placement.db"
        self._conf_fixture.config(group="placement_database", **options)


Database = DatabaseFixture  # the name that nova's functional tests import
