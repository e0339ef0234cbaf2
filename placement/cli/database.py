"""The database that commands work on."""

import sys

from oslo_config import cfg

from placement import config
from placement.db.engine import Database
from placement.progress import Progress, progress

PATIENCE = 2.0  # seconds until an operator is shown how far a command is


def connect(conf: cfg.ConfigOpts) -> Database:
    """Connect to the configured database.  Raises ConfigurationError."""
    database = Database(config.database_settings(conf))
    database.connect_first()
    return database


def patient_progress(verb: str) -> Progress:
    """Return what shows operators how far a command is that takes long on a large cloud."""
    return progress(verb, sys.stderr, PATIENCE)
