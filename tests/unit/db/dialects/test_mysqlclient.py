"""Options for mysqlclient in addition to the URL."""

import sys
from typing import Any

import pytest
from sqlalchemy.engine import make_url

from placement.db.dialects import dialect_of_url
from placement.db.engine import Database
from placement.errors import ConfigurationError
from tests.kit.builders import settings

SETTINGS = settings("sqlite://").database
SAFE_DEFAULTS = {
    "charset": "utf8mb4", "connect_timeout": 10, "local_infile": False, "multi_statements": False,
    "sql_mode": "TRADITIONAL",
}  # fmt: skip


def arguments(url: str) -> dict[str, Any]:
    parsed = make_url(url)
    return dialect_of_url(parsed).connect_args(parsed, SETTINGS)


@pytest.mark.parametrize("url", ["mysql+mysqldb://h/d", "mariadb+mysqldb://h/d", "mysql://h/d"])
def test_secure_defaults_are_set(url: str) -> None:
    assert arguments(url) == SAFE_DEFAULTS


def test_what_the_url_says_holds() -> None:
    stated = arguments("mysql+mysqldb://h/d?charset=utf8&connect_timeout=3&local_infile=1")
    assert stated == {"multi_statements": False, "sql_mode": "TRADITIONAL"}


@pytest.mark.parametrize(
    ("parameters", "mode"),
    [
        ("ssl_ca=/ca.pem", "VERIFY_IDENTITY"),
        ("ssl_cert=/c.pem&ssl_key=/k.pem", "VERIFY_IDENTITY"),
        ("ssl_ca=/ca.pem&ssl_check_hostname=true", "VERIFY_IDENTITY"),
        ("ssl_ca=/ca.pem&ssl_check_hostname=false", "VERIFY_CA"),
        ("ssl_ca=/ca.pem&ssl_mode=VERIFY_CA", None),  # SQLAlchemy passes it on
        ("ssl_mode=PREFERRED", None),
        ("ssl_mode=DISABLED", None),
    ],
)
def test_tls_is_not_wanted_without_a_certificate_that_is_verified(
    parameters: str, mode: str | None
) -> None:
    assert arguments(f"mysql+mysqldb://h/d?{parameters}").get("ssl_mode") == mode


def test_a_mode_that_the_library_does_not_keep_is_refused() -> None:
    with pytest.raises(ValueError, match="use VERIFY_IDENTITY"):
        arguments("mysql+mysqldb://h/d?ssl_mode=REQUIRED")


@pytest.mark.parametrize("url", ["mysql+mysqldb://h/d", "mysql://h/d"])
def test_the_extra_is_named_where_the_driver_is_missing(
    monkeypatch: pytest.MonkeyPatch, url: str
) -> None:
    monkeypatch.setitem(sys.modules, "MySQLdb", None)
    with pytest.raises(ConfigurationError, match=r"pip install 'falcon-placement\[mysqlclient\]'"):
        Database(settings(url).database)


def test_a_word_that_is_no_boolean_is_refused() -> None:
    with pytest.raises(ValueError, match="perhaps"):
        arguments("mysql+mysqldb://h/d?ssl_check_hostname=perhaps")
