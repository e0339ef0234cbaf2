"""The record of a request's line."""

import logging
import os
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from placement.api import request_log
from placement.api.request_log import LINE, REQUEST_LOG

FACTS: dict[str, Any] = {
    "client": "::1", "method": "GET", "uri": "/", "status": "200", "length": 2,
    "microversion": "1.39", "seconds": 0.5, "statements": 1,
}  # fmt: skip
OWN = ("created", "msecs", "relativeCreated", "args", "extra")


def line() -> logging.LogRecord:
    return request_log._Line(logging.INFO, FACTS)


def as_the_library_makes_it() -> logging.LogRecord:
    where = request_log.__file__
    return logging.LogRecord(REQUEST_LOG.name, logging.INFO, where, 0, LINE, (), None)


def common(record: logging.LogRecord) -> dict[str, Any]:
    return {name: value for name, value in vars(record).items() if name not in OWN}


def on_a_thread(act: Callable[[], Any]) -> Any:
    results: list[Any] = []
    thread = threading.Thread(target=lambda: results.append(act()))
    thread.start()
    thread.join()
    (result,) = results
    return result


def test_it_has_all_that_the_library_puts_into_one() -> None:
    def both() -> tuple[logging.LogRecord, ...]:
        return line(), line(), as_the_library_makes_it()

    for first, second, expected in (both(), on_a_thread(both), on_a_thread(both)):
        assert common(first) == common(second) == common(expected)
        assert vars(first).keys() == {*vars(expected), "extra"}


def test_it_says_when_it_was_made() -> None:
    first = line()
    while time.time() <= first.created:
        pass
    second = line()
    assert second.created > first.created
    assert second.msecs == int(second.created % 1 * 1000)
    passed = second.relativeCreated - first.relativeCreated
    assert passed == pytest.approx(1000 * (second.created - first.created))


def test_it_has_its_level_and_its_facts() -> None:
    record = request_log._Line(logging.DEBUG, FACTS)
    assert (record.levelno, record.levelname) == (logging.DEBUG, "DEBUG")
    assert vars(record)["extra"] == FACTS
    assert record.getMessage() == (
        '::1 "GET /" status: 200 len: 2 microversion: 1.39 time: 0.500000 statements: 1'
    )


def test_a_process_that_was_forked_has_its_own_id() -> None:
    line()
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        os.write(writer, str(line().process).encode())
        os._exit(0)
    os.waitpid(child, 0)
    assert os.read(reader, 100) == str(child).encode()
    os.close(reader)
    os.close(writer)
