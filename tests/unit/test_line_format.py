"""The lines of requests are those that oslo's formatter writes, character by character."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import pytest
from oslo_config import cfg
from oslo_context import context
from oslo_context.context import RequestContext
from oslo_log.formatters import ContextFormatter, JSONFormatter

from placement import config, logs
from placement.config import line_format
from placement.config.line_format import REQUEST_LOG, LineFormatter

HOSTILE = "a\nb\x1b[31m%s%(name)s\u202e é"
CONTEXTS: list[dict[str, Any]] = [
    {"request_id": "req-1"},
    {"request_id": "req-1", "global_request_id": "req-2", "user_id": "u", "project_id": "p"},
    {
        "request_id": "req-1",
        "user_id": "u",
        "project_id": "p",
        "domain_id": "d",
        "system_scope": "all",
        "user_domain_id": "ud",
        "project_domain_id": "pd",
        "roles": ["admin"],
    },
    {"request_id": "req-1", "user_id": HOSTILE, "project_id": ""},
]
FORMS: list[dict[str, str]] = [
    {},
    {"logging_context_format_string": "%(isotime)s %(user_identity)s %(message)s"},
    {"logging_context_format_string": "%(levelname)-8s|%(resource)s|%(message)s"},
    {"logging_user_identity_format": "%(user)s/%(project_name)s/%(user_domain)s"},
    {"logging_user_identity_format": "%(user)s"},
    {"log_date_format": "%H:%M"},
    {"logging_context_format_string": "\x1b[1m%(request_id)s\x1b[0m %(message)s"},
]


def options(**overrides: str) -> cfg.ConfigOpts:
    conf = config.options()
    config.parse(conf, [], [])
    for name, value in overrides.items():
        conf.set_override(name, value)
    return conf


@pytest.fixture
def handler() -> Iterator[logging.Handler]:
    """A handler of the root logger."""
    handler = logging.StreamHandler()
    logging.getLogger().addHandler(handler)
    yield handler
    logging.getLogger().removeHandler(handler)
    context._request_store.context = None


def written(handler: logging.Handler, formatter: logging.Formatter, **record: Any) -> str:
    handler.setFormatter(formatter)
    logs.guard()
    message = {"msg": "%s is %s", "args": (HOSTILE, 1), "levelno": logging.INFO, **record}
    made = logging.makeLogRecord(
        {"name": REQUEST_LOG, "levelname": "INFO", "created": 1.25e9, "msecs": 7.5, **message}
    )
    return handler.format(made)


def theirs(conf: cfg.ConfigOpts) -> logging.Formatter:
    formatter: logging.Formatter = ContextFormatter(
        project="placement", version="1", datefmt=conf.log_date_format, config=conf
    )
    return formatter


@pytest.mark.parametrize("values", CONTEXTS)
@pytest.mark.parametrize("form", FORMS)
def test_a_line_is_that_of_oslos_formatter(
    handler: logging.Handler, values: dict[str, Any], form: dict[str, str]
) -> None:
    conf = options(**form)
    RequestContext(**values)
    expected = written(handler, theirs(conf))
    formatter = LineFormatter(conf)
    for _ in range(2):  # made, and remembered
        assert written(handler, formatter) == expected


def test_a_second_is_written_anew_when_it_is_over(handler: logging.Handler) -> None:
    conf = options()
    formatter = LineFormatter(conf)
    RequestContext(request_id="req-1")
    for moment in (1.25e9, 1.25e9 + 0.9, 1.25e9 + 1, 1.25e9 - 60):
        expected = written(handler, theirs(conf), created=moment)
        assert written(handler, formatter, created=moment) == expected


@pytest.mark.parametrize(
    "record", [{"name": "placement.events"}, {"levelno": logging.DEBUG, "levelname": "DEBUG"}]
)
def test_other_records_are_left_to_oslos_formatter(
    handler: logging.Handler, record: dict[str, Any]
) -> None:
    conf = options()
    RequestContext(request_id="req-1", user_id="u")
    assert written(handler, LineFormatter(conf), **record) == (
        written(handler, theirs(conf), **record)
    )


def test_without_a_context_it_is_oslos_line(handler: logging.Handler) -> None:
    conf = options()
    context._request_store.context = None
    assert written(handler, LineFormatter(conf)) == written(handler, theirs(conf))


def test_the_service_writes_its_lines_so_but_leaves_json_alone(handler: logging.Handler) -> None:
    conf = options()
    for formatter, expected in ((theirs(conf), LineFormatter), (JSONFormatter(), JSONFormatter)):
        handler.setFormatter(formatter)
        line_format.use(conf)
        assert type(handler.formatter) is expected


def test_the_short_way_is_the_one_that_is_taken(
    handler: logging.Handler, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ContextFormatter, "format", lambda *_: pytest.fail("the long way"))
    RequestContext(request_id="req-1", user_id="u")
    assert " [None req-1 u - - - - -] " in written(handler, LineFormatter(options()))
