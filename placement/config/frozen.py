"""Settings: what the service reads from its options, as frozen values."""

import re
from dataclasses import dataclass

from oslo_config import cfg

from placement.config.sources import complaint
from placement.errors import ConfigurationError


@dataclass(frozen=True, slots=True)
class DatabaseSettings:
    """`[placement_database]`; times in seconds."""

    connection: str
    slave_connection: str | None
    sqlite_synchronous: bool
    mysql_sql_mode: str
    wsrep_sync_wait: int | None
    prepared_statements: bool
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
class MetricsSettings:
    """`[metrics]`.

    address: host and port of a listener of their own; None: the path is on the API's.
    directory: where processes count; None: one that is made for them. inventory_seconds: how long
    the inventories are kept; 0: they are left out.
    """

    enabled: bool
    path: str
    address: tuple[str, int] | None
    token_required: bool
    directory: str | None
    inventory_seconds: float


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings of the service, read once from files and environment.

    incomplete_consumer_owner: project and user of consumers written by versions that name none.
    slow_request: seconds from which on a request is logged as slow; 0: none is. request_deadline:
    seconds that the work for a request may take; 0: any number.
    """

    auth_strategy: str
    incomplete_consumer_owner: tuple[str, str]
    database: DatabaseSettings
    candidates: CandidateSettings
    metrics: MetricsSettings
    slow_request: float
    request_deadline: float
    max_body_size: int
    conf: cfg.ConfigOpts


def settings(conf: cfg.ConfigOpts) -> Settings:
    """Return the settings that the parsed options give.

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
            metrics=metrics_settings(conf),
            slow_request=conf.placement.slow_request,
            request_deadline=conf.placement.request_deadline,
            max_body_size=conf.placement.max_request_body_size,
            conf=conf,
        )
    except cfg.Error as error:
        raise ConfigurationError(complaint(error)) from None


def incomplete_consumer_owner(conf: cfg.ConfigOpts) -> tuple[str, str]:
    """Return project and user of consumers for which no request has named an owner."""
    group = conf.placement
    return group.incomplete_consumer_project_id, group.incomplete_consumer_user_id


def database_settings(conf: cfg.ConfigOpts) -> DatabaseSettings:
    """Return `[placement_database]`.  Raises ConfigurationError without a connection."""
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
        prepared_statements=group.mariadb_prepared_statements,
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


def metrics_settings(conf: cfg.ConfigOpts) -> MetricsSettings:
    """Return `[metrics]`.  Raises ConfigurationError for a path that is none."""
    group = conf.metrics
    if not re.fullmatch(r"(/[\w.-]+)+", group.path, re.ASCII):
        raise ConfigurationError(
            f"[metrics] path: {group.path!r} is no path: it needs a form like /metrics"
        )
    return MetricsSettings(
        enabled=group.enabled,
        path=group.path,
        address=(group.bind_host, group.bind_port) if group.bind_port else None,
        token_required=group.token_required,
        directory=group.directory or None,
        inventory_seconds=group.inventory_seconds,
    )


def _bound(value: int) -> int | None:
    return None if value < 0 else max(value, 1)


def _with_parameters(url: str, parameters: str) -> str:
    if not parameters:
        return url
    return f"{url}{'&' if '?' in url else '?'}{parameters}"
