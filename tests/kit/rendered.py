"""Rendered statements, which all databases of a test process share.

A process of the service renders each statement once, for the engines of its database. A process of
tests has a thousand databases, and rendered the same statements for each of them.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from placement.db import pools, texts
from placement.runtime.bounded import SizeLimitedDict

if TYPE_CHECKING:
    from sqlalchemy.engine import URL

    from placement.config import DatabaseSettings
    from placement.db.dialects import Dialect, Role


class _Compiled(SizeLimitedDict[Any]):
    """A cache of SQLAlchemy whose keys lack the dialect, their first part."""

    def get(self, key: Any, default: Any = None) -> Any:
        return super().get(key[1:], default)

    def __setitem__(self, key: Any, value: Any) -> None:
        super().__setitem__(key[1:], value)


@functools.cache
def _rendered(driver: str, role: Role, prepared: bool) -> dict[str, Any]:
    """Return the caches of engines whose dialects are equal."""
    return {
        "compiled_cache": _Compiled(pools.MAX_CACHED_PARAMETERS, pools._parameters),
        texts.OPTION: texts.Texts(prepared=prepared),
    }


def forget() -> None:
    """Let the databases that are made from now on render their statements again."""
    _rendered.cache_clear()


def share() -> None:
    """Let all databases that are made from now on share what they render."""
    options_of = pools._options

    def options(
        url: URL, dialect: Dialect, role: Role, settings: DatabaseSettings
    ) -> dict[str, Any]:
        stated = options_of(url, dialect, role, settings)
        rendered = _rendered(url.drivername, role, settings.mariadb_prepared_statements)
        return {**stated, "execution_options": {**stated["execution_options"], **rendered}}

    pools._options = options
