"""Retries of a write: their reasons, their number, and the final error."""

import time
from dataclasses import replace

import pytest
from sqlalchemy import exc

from placement.db import retries
from placement.db.retries import DUPLICATE_RETRIES, Cause, Pauses, Retries, cause_of
from placement.db.statement import Restart, Unmatched
from placement.errors import (
    DatabaseUnavailable,
    DatabaseUnusable,
    LostRace,
    StatementTooLong,
    Unstorable,
)
from tests.kit.builders import settings
from tests.kit.drivers import failure

SETTINGS = replace(settings("sqlite://").database, conflict_retries=2, write_timeout=60.0)

DEADLOCK = exc.OperationalError("UPDATE t", None, failure(1213))
TAKEN = exc.IntegrityError("INSERT t", None, failure(1062))
BROKEN = exc.IntegrityError("INSERT t", None, failure(1452))  # a foreign key
UNKNOWN = exc.OperationalError("UPDATE t", None, failure(2055))


@pytest.mark.parametrize("error", [Restart(), Unmatched()])
def test_a_write_begins_again_as_often_as_is_set(error: Restart) -> None:
    tries = Retries(SETTINGS)
    for _ in range(SETTINGS.conflict_retries):
        tries.allow(error)
    with pytest.raises(LostRace):
        tries.allow(error)


def test_a_concurrently_created_row_is_read_a_few_times() -> None:
    tries = Retries(SETTINGS)
    for _ in range(DUPLICATE_RETRIES):
        tries.allow(TAKEN)
    with pytest.raises(LostRace):
        tries.allow(TAKEN)


def test_many_retries_hold_for_keys_that_are_taken_and_not_for_broken_constraints() -> None:
    patient = replace(SETTINGS, conflict_retries=20)
    tries = Retries(patient)
    for _ in range(20):
        tries.allow(TAKEN)
    tries = Retries(patient)
    for _ in range(DUPLICATE_RETRIES):
        tries.allow(BROKEN)
    with pytest.raises(exc.IntegrityError) as raised:
        tries.allow(BROKEN)
    assert raised.value is BROKEN


def test_a_deadlock_is_tried_again_until_the_deadline() -> None:
    tries = Retries(SETTINGS)
    for _ in range(50):
        tries.allow(DEADLOCK)
    tries.deadline = time.monotonic() - 1
    with pytest.raises(DatabaseUnavailable):
        tries.allow(DEADLOCK)


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (exc.DBAPIError("INSERT t", {"name": "a\U0001f600"}, failure(1366)), Unstorable),
        (exc.OperationalError("INSERT t", None, failure(1142)), DatabaseUnusable),
        (exc.OperationalError("SELECT t", None, failure(1969)), StatementTooLong),
    ],
)
def test_what_no_retry_mends_is_not_tried_again(
    error: exc.DBAPIError, kind: type[Exception]
) -> None:
    with pytest.raises(kind):
        Retries(SETTINGS).allow(error)


def test_another_fault_of_the_database_is_unavailability_with_its_cause() -> None:
    with pytest.raises(DatabaseUnavailable) as raised:
        Retries(SETTINGS).allow(UNKNOWN)
    assert "2055" in raised.value.complaint
    assert "2055" not in str(raised.value)


def test_a_statement_that_is_wrong_is_a_fault_of_ours() -> None:
    error = exc.ProgrammingError("SELEC", None, failure(1064))
    with pytest.raises(exc.ProgrammingError):
        Retries(SETTINGS).allow(error)


def test_pauses_grow_up_to_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    longest: list[float] = []

    def uniform(least: float, most: float) -> float:
        longest.append(most)
        return least

    monkeypatch.setattr("placement.db.retries.random.uniform", uniform)
    pauses = Pauses()
    for _ in range(12):
        pauses.wait()
    assert longest[:3] == [retries.FIRST_PAUSE * factor for factor in (1, 2, 4)]
    assert longest == sorted(longest)
    assert longest[-1] == retries.MAX_PAUSE
    assert pauses.attempts == 12


@pytest.mark.parametrize(
    ("error", "cause"),
    [
        (Restart(), Cause.CONFLICT),
        (Unmatched(), Cause.CONFLICT),
        (TAKEN, Cause.DUPLICATE),
        (BROKEN, Cause.CONSTRAINT),
        (DEADLOCK, Cause.DEADLOCK),
        (exc.OperationalError("UPDATE t", None, failure(1205)), Cause.DATABASE),
        (exc.OperationalError("UPDATE t", None, failure(1290)), Cause.CONNECTION),
        (
            exc.OperationalError("UPDATE t", None, failure(2013), connection_invalidated=True),
            Cause.CONNECTION,
        ),
        (exc.TimeoutError(), Cause.NO_CONNECTION),
    ],
)
def test_why_a_write_begins_again_has_a_name(error: Exception, cause: Cause) -> None:
    assert cause_of(error) is cause


def test_pauses_remain_short_after_any_number_of_attempts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    slept: list[float] = []
    monkeypatch.setattr("placement.db.retries.time.sleep", slept.append)
    pauses = Pauses()
    pauses.attempts = 5000
    pauses.wait()
    assert slept[0] <= retries.MAX_PAUSE
