"""oslo.log, started for the service or for a command."""

import logging

from oslo_config import cfg
from oslo_log import log as oslo_log

from placement import __version__, logs
from placement.config.sources import unknown_options
from placement.errors import ConfigurationError

LOG = logging.getLogger(__name__)

LOG_LEVEL = "alembic=WARN"


def setup_logging(conf: cfg.ConfigOpts) -> None:
    """Start oslo.log as the options say, and warn of unknown options.

    Raises ConfigurationError for a log that cannot be written.
    """
    set_log_defaults()
    try:
        oslo_log.setup(conf, "placement", __version__)
    except (OSError, ValueError, RuntimeError, oslo_log.LogConfigError) as error:
        text = " ".join(str(error).split())
        raise ConfigurationError(f"cannot log as [DEFAULT] log_* and use_* say: {text}") from None
    logs.guard()
    for unknown in unknown_options(conf):
        LOG.warning("%s", unknown)


def log_to_stderr(conf: cfg.ConfigOpts) -> None:
    """Start oslo.log for a command, on standard error.

    The log of the service is not opened: if root creates that file, the service cannot write to it.
    """
    conf.set_override("use_stderr", True)
    for name in ("log_file", "log_dir", "log_config_append"):
        conf.set_override(name, None)
    for name in ("use_syslog", "use_journal", "use_json"):
        conf.set_override(name, False)
    setup_logging(conf)


def set_log_defaults() -> None:
    """Give the options of oslo.log the defaults that they have here."""
    levels = oslo_log.get_default_log_levels()
    if LOG_LEVEL not in levels:
        oslo_log.set_defaults(default_log_levels=[*levels, LOG_LEVEL])
