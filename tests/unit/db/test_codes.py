"""What a driver's exception means; `tests/db/test_codes.py` has each code happen."""

from typing import Any

import pytest
from sqlalchemy import exc

from placement.db import codes
from placement.db.dialects.errors import codes_of
from tests.kit.drivers import failure


def error(code: object, params: Any = None) -> exc.DBAPIError:
    return exc.DBAPIError("UPDATE t", params, failure(code))


@pytest.mark.parametrize("code", ["SQLITE_BUSY", 1213, "40P01"])
def test_codes_are_read_as_each_driver_has_them(code: object) -> None:
    assert code in codes_of(failure(code))
    assert codes.is_retriable(error(code))
    assert not codes.is_outcome_unknown(error(code))


def test_nothing_has_no_code() -> None:
    assert not codes.is_retriable(exc.DBAPIError("UPDATE t", None, BaseException()))


def test_a_lost_connection_is_worth_another_try() -> None:
    lost = exc.DBAPIError("UPDATE t", None, failure(2055), connection_invalidated=True)
    assert codes.is_retriable(lost)


def test_a_broken_constraint_is_known_not_to_be_committed() -> None:
    assert codes.is_outcome_unknown(error(2013))
    assert not codes.is_outcome_unknown(exc.IntegrityError("COMMIT", None, failure(1452)))


@pytest.mark.parametrize(
    "params",
    [
        {"name": "caf\u00e9", "user": "a \U0001f600"},
        ("caf\u00e9", "a \U0001f600"),
        [{"name": "caf\u00e9"}, {"name": "a \U0001f600", "number": 5}],
    ],
)
def test_the_text_with_the_strangest_character_is_what_could_not_be_held(params: object) -> None:
    assert codes.unstorable_text(error(1366, params)) == "a \U0001f600"
    assert codes.unstorable_text(error(1213, params)) is None
    assert codes.unstorable_text(error(1366)) is None
