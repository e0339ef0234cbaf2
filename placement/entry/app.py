"""The application, which connects all parts of the service."""

import logging
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import falcon
from sqlalchemy.engine import Connection
from sqlalchemy.exc import DatabaseError

from placement import __version__, config
from placement.api import dispatch, openapi, problems
from placement.api.candidate_requests.json_form import read_configured_order
from placement.api.handler import Service
from placement.api.middleware import Intake, Negotiation
from placement.api.policy import Policy
from placement.api.routes import FIRST_VERSIONS, GUARDED, OPERATIONS, PUBLIC_PATHS
from placement.api.wsgi_stack import MetricsPage, Page, wrap
from placement.candidates import DEFAULT_TUNING, Order, SearchTuning, TreeCache
from placement.config import MetricsSettings, Settings
from placement.db import schema
from placement.db.dialects import product
from placement.db.dialects.errors import RIGHT
from placement.db.engine import Database
from placement.db.messages import one_line
from placement.errors import ConfigurationError, DatabaseUnusable, PlacementError, Unavailable
from placement.metrics import Metrics, stop_listening
from placement.objects import catalog, claim_records, derived, health
from placement.objects.derived import Corrections
from placement.objects.hold_expiry import HoldExpiry
from placement.operate import online_migrations
from placement.runtime.progress import Progress, silent

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

LOG = logging.getLogger(__name__)

MIGRATE_ATTEMPTS = 5
MIGRATE_PAUSE = 1.0  # seconds


def create_app(
    settings: Settings,
    database: Database,
    tuning: SearchTuning = DEFAULT_TUNING,
    metrics: Metrics | None = None,
) -> "WSGIApplication":
    """Return the WSGI application. The database must be migrated and have its catalogues.

    The database is not used before the first request. `tuning` sets the sizes of the reads of a
    search. Without `metrics`, there is no page of metrics. Raises ConfigurationError if the path of
    this page collides with the API's, or if the configured order is malformed.
    """
    trees = TreeCache(settings.candidates.tree_cache_size)
    order = read_configured_order(settings.order)
    service = Service(settings, database, trees, openapi.document, tuning, order)
    policy = Policy(settings.conf, GUARDED)
    middleware: list[Any] = [Intake(), Negotiation()]
    app: falcon.App[Any, Any] = falcon.App(middleware=middleware)
    problems.register(app, FIRST_VERSIONS)
    dispatch.add_routes(app, service, policy)
    page = None
    if metrics is not None:
        page = _metrics_page(settings.metrics, _metrics_text(settings, metrics, service), policy)
    return wrap(app, settings.conf, PUBLIC_PATHS, settings.auth_strategy == "keystone", page)


def _metrics_text(settings: Settings, metrics: Metrics, service: Service) -> Callable[[], bytes]:
    """Return a function that returns all metrics.

    Raises:
        ConfigurationError: the file of the requests to measure cannot be used, or needs the client.
    """
    path, interval = settings.metrics.headroom_file, settings.metrics.headroom_interval
    if path is None:
        return lambda: metrics.text(service.database)
    # PERF: the module is imported only if needed, because it imports the flavors of the client.
    from placement.metrics.headroom import HeadroomFile, HeadroomGauges  # noqa: PLC0415

    gauges = HeadroomGauges(metrics.directory, interval, HeadroomFile(Path(path), service))
    return lambda: metrics.text(service.database) + gauges.text()


def _metrics_page(
    settings: MetricsSettings, text: Callable[[], bytes], policy: Policy
) -> Callable[["WSGIApplication"], MetricsPage]:
    """Return a function that wraps an application in the metrics page."""
    first = {path.split("/")[1] for path in OPERATIONS}
    if settings.port is None and settings.path.split("/")[1] in first:
        raise ConfigurationError(
            f"[metrics] path: {settings.path} belongs to the API; use another, or set bind_port"
        )
    page = Page(settings.path, settings.port, settings.token_required, text)
    return lambda application: MetricsPage(application, page, policy)


def prepare(database: Database, *, sync: bool, patience: float | None = None) -> None:
    """Prepare a database for serving: its schema, which `sync` migrates, and its catalogues.

    Several processes may call this function concurrently. It waits `patience` seconds for a
    database that does not respond yet, or as the settings say if `patience` is None. Raises
    ConfigurationError, whose text is one line for the operator.
    """
    database.connect_first(patience=patience)
    try:
        if sync and not _is_migrated(database):
            migrate(database)
        with database.primary().read() as conn:
            online_migrations.check_schema(conn)
            health.check_shape(conn)
            is_correct = derived.is_correct(conn)
        if not is_correct:
            _heal(database)
        database.write(catalog.sync)
    except PlacementError as error:
        raise ConfigurationError(error.complaint) from None
    except DatabaseError as error:
        raise ConfigurationError(f"cannot use the database: {one_line(error)}") from None


def _report_unknown_names(conn: Connection, order: Order) -> None:
    """Log the classes and traits of the configured order that do not exist yet."""
    names = {
        kind: {key.name for key in order if key.name_kind == kind}
        for kind in ("resource_class", "trait")
    }
    known = catalog.look_up(conn, names).ids
    for kind, named in names.items():
        for name in sorted(named - known[kind].keys()):
            hint = catalog.hint(conn, kind, [name])
            LOG.warning("[placement] order: %s does not exist and has no effect%s", name, hint)


def _is_migrated(database: Database) -> bool:
    with database.primary().read() as conn:
        return schema.fits(conn)


def _heal(database: Database) -> None:
    """Correct the derived columns. Other processes may run concurrently."""
    LOG.warning(
        "derived columns are not correct: other software has written to this database, "
        "or db sync was interrupted; correcting them"
    )
    corrections = derived.heal(database)
    LOG.warning(
        "corrected `used` of %s and `capacity` of %s inventories, and renewed %s trees; "
        "to check all tables, run placement-manage db check",
        corrections.used,
        corrections.capacity,
        corrections.trees,
    )


@dataclass(frozen=True, slots=True)
class Migration:
    """The changes that `migrate` made."""

    # Version of the schema before the migration, or None if the database had no schema of this
    # service.
    before: str | None
    # Version of the schema after the migration, or None.
    now: str | None
    # Version of openstack-placement's schema that the tables have, or None.
    adopted: str | None
    corrections: Corrections
    # Number of standard resource classes that were added.
    classes: int
    # Number of standard traits that were added.
    traits: int


def migrate(database: Database, progress: Progress = silent) -> Migration:
    """Migrate the schema, fill the derived columns, and complete the catalogues.

    The function can be repeated at any time, for example after an interruption, or after other
    software has written to the database. Raises ConfigurationError.
    """
    with database.read() as conn:
        before = schema.version(conn)
    for attempts_left in reversed(range(MIGRATE_ATTEMPTS)):
        try:
            database.write(_upgrade)
            break
        except (Unavailable, DatabaseError, schema.SchemaMismatch) as error:
            # On engines that commit each schema change separately, a concurrent process may have
            # migrated the schema in the meantime. The next attempt then finds nothing to do.
            if not attempts_left or _lacks_rights(error):
                raise
            LOG.warning(
                "attempt %s of %s to migrate the schema failed: %s",
                MIGRATE_ATTEMPTS - attempts_left,
                MIGRATE_ATTEMPTS,
                error.complaint if isinstance(error, PlacementError) else one_line(error),
            )
            time.sleep(MIGRATE_PAUSE)
    corrections = derived.heal(database, progress)
    database.write(claim_records.delete_meaningless)
    classes, traits = database.write(catalog.sync)
    if corrections.trees:
        database.write(schema.gather_statistics)
    with database.read() as conn:
        now, adopted = schema.version(conn), schema.adopted_version(conn)
    return Migration(before, now, adopted, corrections, classes, traits)


def _lacks_rights(error: Exception) -> bool:
    return isinstance(error, DatabaseUnusable) and error.reason == RIGHT.reason


def _upgrade(conn: Connection) -> None:
    online_migrations.refuse_unsyncable(conn)
    # PERF: a start on a migrated database does not import Alembic.
    from placement.db import revisions  # noqa: PLC0415

    revisions.upgrade(conn)


class Served:
    """The WSGI application. Its first request in a process starts the thread for expired holds."""

    def __init__(self, application: "WSGIApplication", expiry: HoldExpiry) -> None:
        self._application = application
        self._expiry = expiry

    def become(self, other: "Served") -> None:
        """Serve with the configuration of another application from now on."""
        self._application, self._expiry = other._application, other._expiry

    def __call__(
        self, environ: "WSGIEnvironment", start_response: "StartResponse"
    ) -> Iterable[bytes]:
        self._expiry.ensure_started()
        return self._application(environ, start_response)


def serve(*, patience: float | None = None) -> Served:
    """Read the configuration, prepare the database and return the application.

    A server calls this function once, before it forks its workers. No connection remains open that
    the workers would share. For `patience` and errors, see `prepare`.
    """
    conf = config.options()
    config.load_for_service(conf)
    config.setup_logging(conf)
    settings = config.settings(conf)
    if settings.auth_strategy == "noauth2":
        LOG.warning("[api] auth_strategy is noauth2: every token is accepted, for tests only")
    taints = settings.candidates.traits.taints
    metrics = Metrics(settings.metrics, taints) if settings.metrics.enabled else None
    application, database = start(settings, patience=patience, metrics=metrics)
    if metrics is None:
        stop_listening()
    else:
        metrics.listen()
    LOG.info("placement %s on %s", __version__, product(database.writer.dialect))
    return Served(application, HoldExpiry(database))


def start(
    settings: Settings, *, patience: float | None = None, metrics: Metrics | None = None
) -> tuple["WSGIApplication", Database]:
    """Prepare the configured database. Return the application and the database.

    No connection is open afterwards. For the arguments and errors, see `prepare` and `create_app`.
    """
    taints = settings.candidates.traits.taints
    if taints:
        LOG.info("hosts with a taint serve no search: %s", ", ".join(sorted(taints)))
    database = Database(settings.database)
    try:
        application = create_app(settings, database, metrics=metrics)
        prepare(database, sync=settings.database.sync_on_startup, patience=patience)
        if settings.order.strip():
            LOG.info("limited searches at 1.x sort the hosts by %s", settings.order)
            with database.primary().read() as conn:
                _report_unknown_names(conn, read_configured_order(settings.order))
        database.limit_statements()
    except BaseException:
        database.dispose()
        raise
    return application, database
