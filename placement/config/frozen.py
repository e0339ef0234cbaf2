"""The options of the service as frozen values."""

import re
from dataclasses import dataclass, fields
from typing import Any, NamedTuple, TypeVar

from oslo_config import cfg

from placement.config.sources import describe_error, describe_sources
from placement.errors import ConfigurationError

T = TypeVar("T", "CandidateSettings", "DatabaseSettings", "MetricsSettings", "Settings")

TRAIT_NAME = re.compile(r"[A-Z0-9_]{1,255}")


@dataclass(frozen=True, slots=True)
class DatabaseSettings:
    """The options of `[placement_database]`."""

    # SQLAlchemy URL of the database, with the connection parameters appended.
    connection: str
    # The URL of a replica that serves reads. None means that `connection` serves them.
    slave_connection: str | None
    sqlite_synchronous: bool
    # sql_mode of a session, or empty to keep the mode of the server.
    mysql_sql_mode: str
    # wsrep_sync_wait of a session, or None to keep the value of the server.
    wsrep_sync_wait: int | None
    mariadb_prepared_statements: bool
    postgresql_prepared_statements: bool
    # Seconds after which a connection is replaced.
    recycle: int
    # Maximum number of connections of a pool. 0 means no limit.
    max_connections: int
    # Seconds to wait for a connection from the pool. None means the default of SQLAlchemy.
    pool_timeout: int | None
    # Retries of the first connection, or -1 for no limit.
    max_retries: int
    # Seconds between these retries.
    retry_interval: int
    # Seconds for which a write may be retried.
    write_timeout: float
    # Maximum duration of one statement of a request, in seconds. 0 means no limit.
    statement_timeout: float
    conflict_retries: int
    debug: bool
    sync_on_startup: bool


class SpecialTraits(NamedTuple):
    """Traits to which the options of the service give a meaning."""

    # If the root of a tree has one of them, the tree only serves requests that tolerate the trait.
    taints: frozenset[str] = frozenset()
    # A provider with one of them serves one class at a time, or only by its descendants.
    cards: frozenset[str] = frozenset()


NO_TRAITS = SpecialTraits()


@dataclass(frozen=True, slots=True)
class CandidateSettings:
    """The options for the search for candidates."""

    randomize: bool
    # Maximum number of candidates in one response. None means no limit.
    maximum: int | None
    breadth_first: bool
    max_search_steps: int
    max_simulation_steps: int
    # Maximum size of the candidates in one response, in bytes.
    max_answer_size: int
    # Number of resource providers that a process caches.
    tree_cache_size: int
    traits: SpecialTraits


@dataclass(frozen=True, slots=True)
class MetricsSettings:
    """The options of `[metrics]`."""

    enabled: bool
    path: str
    # A port that serves only the metrics. None means that the API's ports serve the path.
    port: int | None
    token_required: bool
    # Directory of the files in which processes count, or None for a temporary directory.
    directory: str | None
    # Seconds for which the inventories are cached. 0 disables the inventories.
    inventory_seconds: float
    allocations: bool = False
    # YAML file with the requests whose headroom is exported, or None.
    headroom_file: str | None = None
    # Minimum time between two measurements of the headroom, in seconds.
    headroom_interval: float = 60.0


@dataclass(frozen=True, slots=True)
class HoldSettings:
    """The options of `[placement]` for holds."""

    # Maximum number of holds of a project. 0 means no maximum.
    max_per_project: int
    # Maximum time from the claim of a hold to its end, in seconds.
    max_age: int


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings of the service. They are read once from files and the environment."""

    # "keystone" or "noauth2".
    auth_strategy: str
    # Project and user of consumers, for microversions whose requests contain no owner.
    incomplete_consumer_owner: tuple[str, str]
    database: DatabaseSettings
    candidates: CandidateSettings
    # JSON of the order of hosts in limited searches at 1.x. Empty means no order.
    order: str
    holds: HoldSettings
    metrics: MetricsSettings
    # Maximum duration of the work for a request, in seconds. 0 means no limit, and None the default
    # of the request's version.
    request_deadline: float | None
    # Seconds for which changes are stored.
    changes_kept: int
    # Maximum size of a request body, in bytes.
    max_body_size: int
    # The parsed options, for the oslo libraries.
    conf: cfg.ConfigOpts


def settings(conf: cfg.ConfigOpts) -> Settings:
    """Return the settings from the parsed options.

    Raises:
        ConfigurationError: a value is of the wrong kind, or the database URL is missing.
    """
    try:
        return _read(
            Settings,
            conf.placement,
            auth_strategy=conf.api.auth_strategy,
            incomplete_consumer_owner=incomplete_consumer_owner(conf),
            database=database_settings(conf),
            candidates=_read(
                CandidateSettings,
                conf.placement,
                randomize=conf.placement.randomize_allocation_candidates,
                maximum=_limit(conf.placement.max_allocation_candidates),
                breadth_first=(
                    conf.placement.allocation_candidates_generation_strategy == "breadth-first"
                ),
                traits=SpecialTraits(
                    taints=_traits("taints", conf.placement.taints),
                    cards=_traits("exclusive", conf.placement.exclusive),
                ),
            ),
            holds=HoldSettings(
                max_per_project=conf.placement.max_holds_per_project,
                max_age=conf.placement.max_hold_age,
            ),
            metrics=metrics_settings(conf),
            max_body_size=conf.placement.max_request_body_size,
            conf=conf,
        )
    except cfg.Error as error:
        raise ConfigurationError(describe_error(error)) from None


def _read(kind: type[T], group: Any, **values: Any) -> T:
    """Return settings with these values. The other values are the options of the same name."""
    names = [each.name for each in fields(kind) if each.name not in values]
    return kind(**{name: getattr(group, name) for name in names}, **values)


def incomplete_consumer_owner(conf: cfg.ConfigOpts) -> tuple[str, str]:
    """Return the project and user of consumers that were created without an owner."""
    group = conf.placement
    return group.incomplete_consumer_project_id, group.incomplete_consumer_user_id


def database_settings(conf: cfg.ConfigOpts) -> DatabaseSettings:
    """Return the settings of `[placement_database]`. Raises ConfigurationError."""
    group = conf.placement_database
    if not group.connection:
        raise ConfigurationError(
            "[placement_database] connection is not set: set it in placement.conf or in "
            f"OS_PLACEMENT_DATABASE__CONNECTION; {describe_sources(conf)}"
        )
    return _read(
        DatabaseSettings,
        group,
        connection=_with_parameters(group.connection, group.connection_parameters),
        slave_connection=(
            _with_parameters(group.slave_connection, group.connection_parameters)
            if group.slave_connection
            else None
        ),
        wsrep_sync_wait=group.mysql_wsrep_sync_wait,
        recycle=group.connection_recycle_time,
        max_connections=_max_connections(group.max_pool_size, group.max_overflow),
        conflict_retries=conf.placement.allocation_conflict_retry_count,
        debug=group.connection_debug >= 50 or group.connection_trace,
    )


def metrics_settings(conf: cfg.ConfigOpts) -> MetricsSettings:
    """Return the settings of `[metrics]`. Raises ConfigurationError if the path is malformed."""
    group = conf.metrics
    if not re.fullmatch(r"(/[\w.-]+)+", group.path, re.ASCII):
        raise ConfigurationError(
            f"[metrics] path: {group.path!r} is not a valid path; use a form like /metrics"
        )
    return _read(
        MetricsSettings,
        group,
        port=group.bind_port,
        directory=group.directory or None,
        headroom_file=group.headroom_file or None,
    )


def _max_connections(size: int, overflow: int) -> int:
    """Return the maximum number of connections of a pool, or 0 for no limit."""
    return 0 if size <= 0 or overflow < 0 else size + overflow


def _traits(option: str, names: list[str]) -> frozenset[str]:
    """Return the traits. Raises ConfigurationError for a name that no trait can have."""
    for name in names:
        if not TRAIT_NAME.fullmatch(name):
            raise ConfigurationError(
                f"[placement] {option}: {name!r} is no name of a trait: it has capital letters, "
                "digits and _, at most 255 of them"
            )
    return frozenset(names)


def _limit(value: int) -> int | None:
    """Return the limit in an option. A negative value means no limit and becomes None."""
    return None if value < 0 else max(value, 1)


def _with_parameters(url: str, parameters: str) -> str:
    if not parameters:
        return url
    return f"{url}{'&' if '?' in url else '?'}{parameters}"
