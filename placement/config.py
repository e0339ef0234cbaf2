"""Settings: oslo.config options read once into frozen values (contract config.md section 1).

Nothing else in the package looks at an option. `ConfigOpts` stays reachable for the oslo
libraries (log, policy) that read their own groups from it.
"""

import logging
import os
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from oslo_config import cfg
from oslo_log import log as oslo_log

from placement import __version__, logs
from placement.errors import ConfigurationError

LOG = logging.getLogger(__name__)

LOG_LEVEL = "alembic=WARN"
NIL_UUID = "00000000-0000-0000-0000-000000000000"
CONFIG_DIR_VARIABLE = "OS_PLACEMENT_CONFIG_DIR"

OPTIONS: dict[str, list[cfg.Opt]] = {
    "api": [
        cfg.StrOpt(
            "auth_strategy",
            default="keystone",
            choices=("keystone", "noauth2"),
            deprecated_group="DEFAULT",
            help="Who vouches for a caller: the identity service, or nobody (noauth2: tests).",
        ),
    ],
    "placement": [
        cfg.BoolOpt(
            "randomize_allocation_candidates",
            default=False,
            help="Give a fair spread over the cloud in random order instead of the first found.",
        ),
        cfg.IntOpt(
            "max_allocation_candidates",
            default=100_000,
            min=-1,
            help="Candidates generated for one request at the most; -1 means no bound.",
        ),
        cfg.StrOpt(
            "allocation_candidates_generation_strategy",
            default="breadth-first",
            choices=("breadth-first", "depth-first"),
            help="Take one candidate from each tree in turn, or all of a tree before the next.",
        ),
        cfg.IntOpt(
            "max_search_steps",
            default=2_000_000,
            min=1,
            help="Work spent on the search for one request, in steps of about a microsecond: a "
            "provider tried for a group is one, and one more for each condition that joins the "
            "group to others; eight that are looked at are one; one read from the database is ten.",
        ),
        cfg.IntOpt(
            "max_answer_size",
            default=64 * 1024 * 1024,
            min=1,
            help="Bytes of the candidates in one answer at the most, each taken for as long as "
            "such a candidate can be. The list ends there, and a warning is logged.",
        ),
        cfg.IntOpt(
            "tree_cache_size",
            default=200_000,
            min=0,
            help="Resource providers kept in memory by each process, as immutable trees; "
            "some 2 KB each.",
        ),
        cfg.IntOpt(
            "max_request_body_size",
            default=32 * 1024 * 1024,
            min=1,
            help="Bytes of a request body at the most; a larger one is answered with 413.",
        ),
        cfg.IntOpt(
            "allocation_conflict_retry_count",
            default=10,
            min=0,
            help="Attempts of a write whose providers other writers keep changing.",
        ),
        cfg.StrOpt(
            "incomplete_consumer_project_id",
            default=NIL_UUID,
            help="Project of consumers written below microversion 1.8.",
        ),
        cfg.StrOpt(
            "incomplete_consumer_user_id",
            default=NIL_UUID,
            help="User of consumers written below microversion 1.8.",
        ),
    ],
    "placement_database": [
        cfg.StrOpt("connection", secret=True, help="Database URL; required."),
        cfg.StrOpt(
            "connection_parameters", default="", secret=True, help="Appended to the URL after '?'."
        ),
        cfg.StrOpt("slave_connection", secret=True, help="Database URL for reads."),
        cfg.BoolOpt(
            "sqlite_synchronous", default=True, help="Wait until SQLite's file is on the disk."
        ),
        cfg.StrOpt("mysql_sql_mode", default="TRADITIONAL", help="Empty: the server's own."),
        cfg.IntOpt(
            "mysql_wsrep_sync_wait",
            help="On a Galera cluster written through several nodes, set to 1: a read waits until "
            "its node has what others have committed.",
        ),
        cfg.IntOpt("connection_recycle_time", default=3600, help="Seconds."),
        cfg.IntOpt("max_pool_size", help="Connections kept by a process."),
        cfg.IntOpt("max_overflow", help="Connections beyond the pool."),
        cfg.IntOpt("pool_timeout", help="Seconds to wait for a connection of the pool."),
        cfg.IntOpt("max_retries", default=10, help="First connection; -1 means for ever."),
        cfg.IntOpt("retry_interval", default=10, help="Seconds between first connections."),
        cfg.FloatOpt(
            "write_timeout",
            default=20.0,
            help="Seconds that a write may spend on retries before it is answered with 503.",
        ),
        cfg.FloatOpt(
            "statement_timeout",
            default=4.0,
            min=0,
            help="Seconds that one statement for a request may take, before the database gives it "
            "up and the request is answered with 503; 0 means no bound. Statements of writes may "
            "also wait for others, write_timeout in addition. db sync, db check and their like "
            "have no bound.",
        ),
        cfg.IntOpt("connection_debug", default=0, min=0, max=100, help="From 50: log statements."),
        cfg.BoolOpt("connection_trace", default=False, help="Log statements."),
        cfg.BoolOpt("sync_on_startup", default=False, help="Migrate when the service starts."),
    ],
    "workarounds": [
        cfg.BoolOpt(
            "optimize_for_wide_provider_trees",
            default=False,
            help="Accepted for compatibility; wide trees need no workaround here.",
        ),
    ],
}


@dataclass(frozen=True, slots=True)
class DatabaseSettings:
    """`[placement_database]`; times in seconds."""

    connection: str
    slave_connection: str | None
    sqlite_synchronous: bool
    mysql_sql_mode: str
    wsrep_sync_wait: int | None
    recycle: int
    pool_size: int | None
    max_overflow: int | None
    pool_timeout: int | None
    max_retries: int
    retry_interval: int
    write_timeout: float
    statement_timeout: float
    conflict_retries: int
    debug: bool
    sync_on_startup: bool


@dataclass(frozen=True, slots=True)
class CandidateSettings:
    """How candidates are generated; `maximum` None means unbounded."""

    randomize: bool
    maximum: int | None
    breadth_first: bool
    max_search_steps: int
    max_answer_size: int
    tree_cache_size: int


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that the service reads from files and environment, once.

    incomplete_consumer_owner: project and user of consumers written by versions that name none.
    """

    auth_strategy: str
    incomplete_consumer_owner: tuple[str, str]
    database: DatabaseSettings
    candidates: CandidateSettings
    max_body_size: int
    conf: cfg.ConfigOpts


def options() -> cfg.ConfigOpts:
    """Return a `ConfigOpts` that knows our options and those of oslo.log."""
    conf = cfg.ConfigOpts()
    for group, opts in OPTIONS.items():
        conf.register_opts(opts, group=group)
    oslo_log.register_options(conf)
    return conf


def load_for_service(conf: cfg.ConfigOpts) -> None:
    """Read the files of the web process: those of `OS_PLACEMENT_CONFIG_DIR`, or the usual places.

    Raises ConfigurationError when the directory was named and has no readable placement.conf.
    """
    parse(conf, [], named_files())


def named_files() -> list[str] | None:
    """The file in the directory that the environment names; None when it names none.

    Raises ConfigurationError when it is not there.
    """
    directory = os.environ.get(CONFIG_DIR_VARIABLE)
    if not directory:
        return None
    path = Path(directory) / "placement.conf"
    if not path.is_file():
        raise ConfigurationError(f"{CONFIG_DIR_VARIABLE}: there is no file {path}")
    return [str(path)]


def parse(conf: cfg.ConfigOpts, argv: Sequence[str], files: list[str] | None = None) -> None:
    """Parse command line, files and environment; unknown options of ours are warned about.

    Raises ConfigurationError for a file that cannot be read and for a value that is not allowed.
    """
    try:
        conf(
            list(argv),
            project="placement",
            version=__version__,
            default_config_files=files,
            # A named directory stands alone: nothing of the machine's own is mixed into it.
            default_config_dirs=[] if files is not None else None,
        )
    except cfg.ConfigFilesNotFoundError as error:
        raise ConfigurationError(f"cannot read {', '.join(error.config_files)}") from None
    except (cfg.Error, OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(" ".join(str(error).split())) from None


def setup_logging(conf: cfg.ConfigOpts) -> None:
    """Start oslo.log as the options say, and warn of options that nobody reads.

    Raises ConfigurationError for a log that cannot be written.
    """
    set_log_defaults()
    try:
        oslo_log.setup(conf, "placement", __version__)
    except (OSError, ValueError, RuntimeError, oslo_log.LogConfigError) as error:
        text = " ".join(str(error).split())
        raise ConfigurationError(f"cannot log as [DEFAULT] log_* and use_* say: {text}") from None
    logs.guard()
    for path, group, name in unknown_options(conf):
        LOG.warning(
            "%s: [%s] %s is not an option of this service; it is ignored", path, group, name
        )


def log_to_stderr(conf: cfg.ConfigOpts) -> None:
    """Start oslo.log for a command: an operator runs it, as whomever, and sees what it says.

    The service's log is not opened: a file made by root would keep the service from starting.
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


def unknown_options(conf: cfg.ConfigOpts) -> Iterable[tuple[str, str, str]]:
    """Yield (file, group, option) for what stands in our groups and is not one of our options."""
    known = {
        group: {opt.dest for opt in opts} | {opt.name for opt in opts}
        for group, opts in OPTIONS.items()
    }
    for path in _files_read(conf):
        sections: dict[str, dict[str, list[str]]] = {}
        cfg.ConfigParser(path, sections).parse()
        for group, names in sections.items():
            for name in names:
                if group in known and name not in known[group]:
                    yield path, group, name


def _files_read(conf: cfg.ConfigOpts) -> list[str]:
    files = list(conf.config_file or [])
    for directory in conf.config_dir or []:
        files += sorted(str(path) for path in Path(directory).glob("*.conf"))
    return files


def settings(conf: cfg.ConfigOpts) -> Settings:
    """Freeze what was parsed.

    Raises ConfigurationError for a value of the wrong kind or a missing database URL.
    """
    try:
        return Settings(
            auth_strategy=conf.api.auth_strategy,
            incomplete_consumer_owner=incomplete_consumer_owner(conf),
            database=database_settings(conf),
            candidates=CandidateSettings(
                randomize=conf.placement.randomize_allocation_candidates,
                maximum=_bound(conf.placement.max_allocation_candidates),
                breadth_first=(
                    conf.placement.allocation_candidates_generation_strategy == "breadth-first"
                ),
                max_search_steps=conf.placement.max_search_steps,
                max_answer_size=conf.placement.max_answer_size,
                tree_cache_size=conf.placement.tree_cache_size,
            ),
            max_body_size=conf.placement.max_request_body_size,
            conf=conf,
        )
    except cfg.Error as error:
        raise ConfigurationError(" ".join(str(error).split())) from None


def incomplete_consumer_owner(conf: cfg.ConfigOpts) -> tuple[str, str]:
    """Project and user of consumers that nobody has named an owner of."""
    group = conf.placement
    return group.incomplete_consumer_project_id, group.incomplete_consumer_user_id


def database_settings(conf: cfg.ConfigOpts) -> DatabaseSettings:
    """Freeze `[placement_database]`.  Raises ConfigurationError without a connection."""
    group = conf.placement_database
    if not group.connection:
        raise ConfigurationError(
            "[placement_database] connection is not set: name the database in placement.conf "
            "or in OS_PLACEMENT_DATABASE__CONNECTION"
        )
    return DatabaseSettings(
        connection=_with_parameters(group.connection, group.connection_parameters),
        slave_connection=(
            _with_parameters(group.slave_connection, group.connection_parameters)
            if group.slave_connection
            else None
        ),
        sqlite_synchronous=group.sqlite_synchronous,
        mysql_sql_mode=group.mysql_sql_mode,
        wsrep_sync_wait=group.mysql_wsrep_sync_wait,
        recycle=group.connection_recycle_time,
        pool_size=group.max_pool_size,
        max_overflow=group.max_overflow,
        pool_timeout=group.pool_timeout,
        max_retries=group.max_retries,
        retry_interval=group.retry_interval,
        write_timeout=group.write_timeout,
        statement_timeout=group.statement_timeout,
        conflict_retries=conf.placement.allocation_conflict_retry_count,
        debug=group.connection_debug >= 50 or group.connection_trace,
        sync_on_startup=group.sync_on_startup,
    )


def _bound(value: int) -> int | None:
    return None if value < 0 else max(value, 1)


def _with_parameters(url: str, parameters: str) -> str:
    if not parameters:
        return url
    return f"{url}{'&' if '?' in url else '?'}{parameters}"


def line(error: Exception) -> str:
    """What an operator is told of an error: more than a client, where there is more to say."""
    return str(getattr(error, "complaint", error))


def fail(error: Exception) -> None:
    """Print an operator's error as one line on standard error."""
    print(f"placement: {line(error)}", file=sys.stderr)
