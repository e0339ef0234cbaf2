"""The connection of commands to the database."""

import sys

from oslo_config import cfg

from placement import config
from placement.db.engine import COMMAND_PATIENCE, Database
from placement.runtime.progress import Progress, progress

PROGRESS_DELAY = 2.0  # seconds before a command shows its progress


def connect(conf: cfg.ConfigOpts, patience: float | None = COMMAND_PATIENCE) -> Database:
    """Connect to the configured database, and wait for it for `patience` seconds.

    None waits as the service does (`max_retries`). Raises ConfigurationError, also for options that
    only the service uses, because it would not start with them.
    """
    settings = config.settings(conf)
    if settings.order.strip():
        # PERF: few configurations have an order.
        from placement.api.candidate_requests.json_form import read_configured_order  # noqa: PLC0415

        read_configured_order(settings.order)
    database = Database(settings.database)
    database.connect_first(patience=patience)
    return database


def delayed_progress(verb: str) -> Progress:
    """Return a Progress on standard error, for commands that may take long in a large cloud."""
    return progress(verb, sys.stderr, PROGRESS_DELAY)
