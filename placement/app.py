"""The application: the one place where everything is wired together."""

from typing import Any

import falcon
from sqlalchemy.engine import Connection
from sqlalchemy.exc import DatabaseError

from placement import config
from placement.api import dispatch, problems
from placement.api.exchange import Service
from placement.api.middleware import Negotiation, NoAuth, RequestContext
from placement.api.policy import Policy
from placement.api.routes import PUBLIC_PATHS, ROUTES
from placement.candidates import TreeCache
from placement.config import Settings
from placement.db import dialect, schema
from placement.db.engine import Database
from placement.errors import ConfigurationError, PlacementError
from placement.objects import catalog, recount


def create_app(settings: Settings, database: Database) -> falcon.App[Any, Any]:
    """Make the WSGI application on a database that is migrated and has its catalogues.

    Raises ConfigurationError for an authentication strategy that is not supported.
    """
    if settings.auth_strategy != "noauth2":
        raise ConfigurationError(
            f"[api] auth_strategy = {settings.auth_strategy} is not supported yet: "
            f"set it to noauth2 and protect the service otherwise"
        )
    service = Service(settings, database, TreeCache(settings.candidates.tree_cache_size))
    policy = Policy(
        settings.conf, [(route.rule, route.method, route.path) for route in ROUTES if route.rule]
    )
    # First in is last out: the log line and the request id enclose everything.
    middleware: list[Any] = [RequestContext(), NoAuth(PUBLIC_PATHS), Negotiation()]
    app: falcon.App[Any, Any] = falcon.App(middleware=middleware)
    problems.register(app)
    dispatch.add_routes(app, service, policy)
    return app


def prepare(database: Database, *, sync: bool) -> None:
    """Make a database ready to serve: its schema (migrated if `sync`) and its catalogues.

    Safe to run by many processes at once. Raises ConfigurationError, one line for the operator.
    """
    database.connect_first()
    try:
        if sync:
            database.write(upgrade)
        with database.read() as conn:
            schema.check(conn)
            recount.check(conn)
        database.write(catalog.sync)
    except PlacementError as error:
        raise ConfigurationError(str(error)) from None
    except DatabaseError as error:
        raise ConfigurationError(f"cannot use the database: {dialect.one_line(error)}") from None


def upgrade(conn: Connection) -> None:
    """Migrate the schema and fill what is derived."""
    if schema.version(conn) == schema.newest():
        return
    schema.upgrade(conn)
    recount.recount(conn)


def serve() -> falcon.App[Any, Any]:
    """Read the configuration, prepare the database and make the application.

    Everything here happens once, before a server forks its workers, and leaves no connection
    open that they could share. Raises ConfigurationError.
    """
    conf = config.options()
    config.load_for_service(conf)
    config.setup_logging(conf)
    settings = config.settings(conf)
    database = Database(settings.database)
    app = create_app(settings, database)
    prepare(database, sync=settings.database.sync_on_startup)
    database.dispose()
    return app
