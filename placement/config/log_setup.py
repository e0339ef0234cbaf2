"""The setup of oslo.log, for the service and for commands."""

import logging
from importlib.util import find_spec

from oslo_config import cfg
from oslo_log import log as oslo_log

from placement import __version__
from placement.config.sources import describe_error, unknown_settings
from placement.errors import ConfigurationError
from placement.runtime import logs

LOG = logging.getLogger(__name__)

LOG_LEVEL = "alembic=WARN"


def setup_logging(conf: cfg.ConfigOpts) -> None:
    """Configure oslo.log, and log a warning for each unknown option.

    Raises:
        ConfigurationError: the log cannot be written.
    """
    _set_up(conf)
    for unknown in unknown_settings(conf):
        LOG.warning("%s", unknown)


def _set_up(conf: cfg.ConfigOpts) -> None:
    set_log_defaults()
    if conf.use_journal and find_spec("systemd") is None:
        raise ConfigurationError(
            "[DEFAULT] use_journal is set, and the library systemd is not installed: install "
            "systemd-python (Debian: python3-systemd), or remove the option"
        )
    try:
        oslo_log.setup(conf, "placement", __version__)
    except cfg.ConfigSourceValueError as error:
        raise ConfigurationError(describe_error(error)) from None
    except (OSError, TypeError, ValueError, RuntimeError, oslo_log.LogConfigError) as error:
        text = " ".join(str(error).split())
        raise ConfigurationError(
            f"cannot log with [DEFAULT] log_* and use_* as configured: {text}"
        ) from None
    logs.guard()


def log_to_stderr(conf: cfg.ConfigOpts, *, is_of_service: bool = True) -> None:
    """Configure oslo.log for a command. Standard error is the only output.

    The command does not open the service's log file. If root created this file, the service could
    not write to it.

    is_of_service: whether the command reads the options of the service. Other commands log neither
        unknown options nor the repetition of requests, unless `debug` is set.
    """
    conf.set_override("use_stderr", True)
    for name in ("log_file", "log_dir", "log_config_append"):
        conf.set_override(name, None)
    for name in ("use_syslog", "use_journal", "use_json"):
        conf.set_override(name, False)
    if is_of_service or conf.debug:
        setup_logging(conf)
    else:
        _set_up(conf)
        logging.getLogger("keystoneauth").setLevel(logging.ERROR)


def set_log_defaults() -> None:
    """Set the defaults of this service for the options of oslo.log."""
    levels = oslo_log.get_default_log_levels()
    if LOG_LEVEL not in levels:
        oslo_log.set_defaults(default_log_levels=[*levels, LOG_LEVEL])
