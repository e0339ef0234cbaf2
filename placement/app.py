"""The application: everything is wired together here, and only here."""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import falcon
from sqlalchemy.engine import Connection
from sqlalchemy.exc import DatabaseError

from placement import config
from placement.api import dispatch, openapi, problems, wsgi_stack
from placement.api.handler import Service
from placement.api.metrics_page import MetricsPage, Page
from placement.api.middleware import Intake, Negotiation
from placement.api.policy import Policy
from placement.api.routes import GUARDED, OPERATIONS, PUBLIC_PATHS
from placement.candidates import DEFAULT_TUNING, SearchTuning, TreeCache
from placement.config import MetricsSettings, Settings
from placement.db import schema
from placement.db.dialects.errors import RIGHT
from placement.db.engine import Database
from placement.db.messages import one_line
from placement.errors import ConfigurationError, DatabaseUnusable, PlacementError, Unavailable
from placement.metrics import Metrics, stop_listening
from placement.objects import catalog, derived, health, online_migrations
from placement.objects.derived import Corrections
from placement.progress import Progress, silent

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment


MIGRATE_ATTEMPTS = 5
MIGRATE_PAUSE = 1.0  # seconds


def create_app(
    settings: Settings,
    database: Database,
    tuning: SearchTuning = DEFAULT_TUNING,
    metrics: Metrics | None = None,
) -> "WSGIApplication":
    """Return the WSGI application for a database that is migrated and has its catalogues.

    metrics: what its page shows; None: it has none. Raises ConfigurationError.
    """
    keystone = settings.auth_strategy == "keystone"
    trees = TreeCache(settings.candidates.tree_cache_size)
    service = Service(settings, database, trees, openapi.document, tuning)
    policy = Policy(settings.conf, GUARDED)
    middleware: list[Any] = [Intake(), Negotiation()]
    app: falcon.App[Any, Any] = falcon.App(middleware=middleware)
    problems.register(app, OPERATIONS)
    dispatch.add_routes(app, service, policy)
    page = None
    if metrics is not None:
        page = _metrics_page(settings.metrics, lambda: metrics.text(database), policy)
    return wsgi_stack.wrap(app, settings.conf, PUBLIC_PATHS, keystone, page)


def _metrics_page(
    settings: MetricsSettings, text: Callable[[], bytes], policy: Policy
) -> Callable[["WSGIApplication"], MetricsPage]:
    """Return what puts the page of the metrics before an application."""
    port = None if settings.address is None else settings.address[1]
    if port is None and settings.path.split("/")[1] in {path.split("/")[1] for path in OPERATIONS}:
        raise ConfigurationError(
            f"[metrics] path: {settings.path} belongs to the API; use another, or set bind_port"
        )
    page = Page(settings.path, port, settings.token_required, text)
    return lambda application: MetricsPage(application, page, policy)


def prepare(database: Database, *, sync: bool, patient: bool = True) -> None:
    """Make a database ready to serve: its schema and its catalogues.

    sync: whether to migrate the schema. patient: whether to wait for a database that does not
    answer yet. Many processes may do this at once. Raises ConfigurationError, whose text is one
    line for the operator.
    """
    database.connect_first(patient=patient)
    try:
        if sync and not _is_synced(database):
            migrate(database)
        with database.read() as conn:
            schema.check(conn)
            health.check_shape(conn)
            derived.refuse_incorrect(conn)
        database.write(catalog.sync)
    except DatabaseUnusable as error:
        raise ConfigurationError(error.complaint) from None
    except PlacementError as error:
        raise ConfigurationError(str(error)) from None
    except DatabaseError as error:
        raise ConfigurationError(f"cannot use the database: {one_line(error)}") from None


def _is_synced(database: Database) -> bool:
    with database.read() as conn:
        return schema.fits(conn) and derived.is_correct(conn)


@dataclass(frozen=True, slots=True)
class Migration:
    """What `migrate` did.

    before, now: version of the schema; None where nothing of this service was there. adopted:
    version of openstack-placement's schema that the tables have. corrections: of derived columns.
    classes, traits: how many standard ones are new.
    """

    before: str | None
    now: str | None
    adopted: str | None
    corrections: Corrections
    classes: int
    traits: int


def migrate(database: Database, progress: Progress = silent) -> Migration:
    """Migrate the schema, fill the derived columns and complete the catalogues.

    Can be repeated at any time: after a run that was interrupted, or after other software has
    written to the database. progress: shows how far the columns are. Raises ConfigurationError for
    a database that cannot be migrated.
    """
    with database.read() as conn:
        before = schema.version(conn)
    for attempts_left in reversed(range(MIGRATE_ATTEMPTS)):
        try:
            database.write(_upgrade)
            break
        except (Unavailable, DatabaseError, schema.SchemaMismatch) as error:
            # Where an engine commits each statement that changes the schema, another process may
            # have migrated in between; the next attempt finds its work done.
            if not attempts_left or _lacks_rights(error):
                raise
            time.sleep(MIGRATE_PAUSE)
    corrections = database.write(partial(derived.recompute, progress=progress))
    classes, traits = database.write(catalog.sync)
    if corrections.trees:
        database.write(schema.gather_statistics)
    with database.read() as conn:
        now, adopted = schema.version(conn), schema.adopted_version(conn)
    return Migration(before, now, adopted, corrections, classes, traits)


def _lacks_rights(error: Exception) -> bool:
    return isinstance(error, DatabaseUnusable) and error.reason == RIGHT.reason


def _upgrade(conn: Connection) -> None:
    if schema.refuse_unknown(conn):
        online_migrations.refuse_incomplete(conn)
    schema.upgrade(conn)


class Served:
    """The WSGI application, with what the server has to know.

    max_body_size: bytes; a request with a longer body is refused unread. metrics: what counts, if
    anything does. metrics_address: host and port of the metrics' own listener, if they have one.
    """

    def __init__(
        self, application: "WSGIApplication", settings: Settings, metrics: Metrics | None
    ) -> None:
        self._application = application
        self.max_body_size = settings.max_body_size
        self.metrics = metrics
        self.metrics_address = None if metrics is None else settings.metrics.address

    def __call__(
        self, environ: "WSGIEnvironment", start_response: "StartResponse"
    ) -> Iterable[bytes]:
        """Answer one request."""
        return self._application(environ, start_response)


def serve(*, patient: bool = True) -> Served:
    """Read the configuration, prepare the database and return the application.

    This happens once, before a server forks its workers, and leaves no connection open that they
    could share. patient: whether to wait for a database that does not answer. Raises
    ConfigurationError.
    """
    conf = config.options()
    config.load_for_service(conf)
    config.setup_logging(conf)
    settings = config.settings(conf)
    metrics = Metrics(settings.metrics) if settings.metrics.enabled else None
    application, _database = start(settings, patient=patient, metrics=metrics)
    if metrics is None:
        stop_listening()
    else:
        metrics.listen()
    return Served(application, settings, metrics)


def start(
    settings: Settings, *, patient: bool = True, metrics: Metrics | None = None
) -> tuple["WSGIApplication", Database]:
    """Return the application on the configured database, which is prepared and has no connection.

    patient: whether to wait for a database that does not answer. metrics: what is shown of them.
    Raises ConfigurationError.
    """
    database = Database(settings.database)
    try:
        application = create_app(settings, database, metrics=metrics)
        prepare(database, sync=settings.database.sync_on_startup, patient=patient)
        database.limit_statements()
    except BaseException:
        database.dispose()
        raise
    return application, database
