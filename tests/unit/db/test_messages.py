"""Messages about a database."""

import re

import pymysql
import pytest
from sqlalchemy import exc
from sqlalchemy.engine import make_url

from placement.db.messages import masked_url, one_line


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("mysql+pymysql://u:p@h/d", "mysql+pymysql://u:***@h/d"),
        (
            "mysql+pymysql://h/d?user=u&password=p&charset=utf8",
            "mysql+pymysql://h/d?charset=utf8&password=***&user=u",
        ),
        (
            "postgresql+psycopg:///d?sslpassword=p&passfile=p&sslkey=k",
            "postgresql+psycopg:///d?passfile=***&sslkey=k&sslpassword=***",
        ),
    ],
)
def test_passwords_of_a_url_are_not_shown(url: str, shown: str) -> None:
    assert set(re.split("[?&]", masked_url(make_url(url)))) == set(re.split("[?&]", shown))


def test_a_complaint_is_one_line_without_the_statement_and_its_parameters() -> None:
    origin = RuntimeError("relation does not exist\nLINE 1:  SELECT\t1")
    error = exc.DBAPIError("SELECT secret", {"name": "secret"}, origin)
    assert one_line(error) == "relation does not exist LINE 1: SELECT 1"
    assert one_line(ValueError("a\nb")) == "a b"


def test_the_tuple_of_a_driver_for_mysql_is_a_sentence() -> None:
    origin = pymysql.err.OperationalError(2003, "Can't connect to\n'host'")
    assert one_line(exc.OperationalError("SELECT 1", {}, origin)) == (
        "Can't connect to 'host' (error 2003)"
    )
