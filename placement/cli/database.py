"""The database that commands work on."""

from oslo_config import cfg

from placement import config
from placement.db.engine import Database


def connect(conf: cfg.ConfigOpts) -> Database:
    """Connect to the configured database.  Raises ConfigurationError."""
    database = Database(config.database_settings(conf))
    database.connect_first()
    return database
