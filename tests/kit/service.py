"""The service in this process, and a client for it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import falcon.testing
import sqlalchemy as sa

from placement.api.history import LATEST
from placement.candidates import DEFAULT_TUNING, SearchTuning
from placement.db import tables as t
from placement.db.engine import Database
from placement.entry import app
from placement.objects import derived
from tests.kit.builders import database_url, settings

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType

    from _typeshed.wsgi import WSGIApplication

NEWEST = str(LATEST)
HEADERS: Mapping[str, str] = {
    "X-Auth-Token": "admin",
    "X-Roles": "admin,service",  # only a service may reshape
    "OpenStack-API-Version": f"placement {NEWEST}",
}


def headers_at(version: str) -> dict[str, str]:
    """Return the usual headers with this version."""
    return {**HEADERS, "OpenStack-API-Version": f"placement {version}"}


class Client:
    """Sends requests to an application in this process; safe for threads."""

    def __init__(self, application: WSGIApplication) -> None:
        self.application = application

    def send(
        self,
        method: str,
        path: str,
        body: object = None,
        version: str = NEWEST,
        headers: Mapping[str, str] | None = None,
        **options: Any,
    ) -> falcon.testing.Result:
        """Send one request and return its response, of any status.

        `path` may have a query; `body` is sent as JSON unless it is None; `headers` are added to
        the usual ones; options are those of Falcon's `simulate_request`.
        """
        path, _, query = path.partition("?")
        if query:
            options["query_string"] = query
        return falcon.testing.simulate_request(
            self.application,
            method,
            path,
            json=body,
            headers={**headers_at(version), **(headers or {})},
            **options,
        )

    def get(self, path: str, version: str = NEWEST) -> Any:
        """Return the body of a GET, which must succeed."""
        return self.expect(200, "GET", path, version=version).json

    def expect(
        self, status: int, method: str, path: str, body: object = None, version: str = NEWEST
    ) -> falcon.testing.Result:
        """Send a request whose response must have this status."""
        answer = self.send(method, path, body, version)
        assert answer.status_code == status, answer.text
        return answer


# Options with which a service sends the writes of a transaction one by one on each engine.
ONE_BY_ONE: Mapping[str, object] = {"mariadb_prepared_statements": False}


class Service(Client):
    """A service with noauth2 on a new database."""

    def __init__(
        self,
        directory: Path,
        tuning: SearchTuning = DEFAULT_TUNING,
        *,
        url: str = "",
        **overrides: Mapping[str, object],
    ) -> None:
        """On SQLite the file is in the directory.

        `url` is a database that is ready for use, instead of a new one. overrides: group -> option
        -> value.
        """
        self.settings = settings(url or database_url(directory), **overrides)
        self.database = Database(self.settings.database)
        super().__init__(app.create_app(self.settings, self.database, tuning))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections."""
        self.database.dispose()

    def restart(self, tuning: SearchTuning = DEFAULT_TUNING) -> None:
        """Drop all cached trees, and use this tuning of the search."""
        self.application = app.create_app(self.settings, self.database, tuning)

    def check_used(self) -> None:
        """Assert that every `used` is the sum of its allocations."""
        with self.database.read() as conn:
            assert derived.is_correct(conn)

    def dump(self, but: str = "") -> dict[str, list[tuple[Any, ...]]]:
        """Return all rows of all tables, without columns of one name."""
        contents = {}
        with self.database.read() as conn:
            for table in t.metadata.sorted_tables:
                columns = [column for column in table.columns if column.name != but]
                contents[table.name] = sorted(
                    map(tuple, conn.execute(sa.select(*columns))), key=repr
                )
        return contents


def inventories(generation: int, **totals: int) -> dict[str, object]:
    """Return the body of a PUT of a provider's inventories."""
    return {
        "resource_provider_generation": generation,
        "inventories": {name: {"total": total} for name, total in totals.items()},
    }


def claim(
    amounts: Mapping[str, Mapping[str, int]],
    generation: int | None = None,
    project: str = "project",
    user: str = "user",
    kind: str = "INSTANCE",
) -> dict[str, object]:
    """Return a consumer's allocations as the body of PUT, POST or a reshape.

    amounts: provider uuid -> class -> amount.
    """
    return {
        "allocations": {uuid: {"resources": dict(each)} for uuid, each in amounts.items()},
        "project_id": project,
        "user_id": user,
        "consumer_generation": generation,
        "consumer_type": kind,
    }
