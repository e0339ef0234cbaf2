"""The lines of the access log are those of oslo.log."""

import io
import logging
import time
from collections.abc import Iterator
from typing import Any

import pytest
from oslo_config import cfg
from oslo_context import context
from oslo_context.context import RequestContext
from oslo_log.formatters import ContextFormatter, JSONFormatter

from placement import config
from placement.compat import oslo_context
from placement.runtime import access_lines, logs

HOSTILE = "a\nb\x1b[31m\x00\u2028 é😀"


@pytest.fixture
def request_context() -> Iterator[RequestContext]:
    yield RequestContext(request_id="req-1", user_id="u", project_id="p", auth_token="secret")
    oslo_context.clear()


def written(
    conf: cfg.ConfigOpts, handler: logging.StreamHandler[io.StringIO], level: int, *texts: str
) -> str:
    """Return what a handler of the service writes for lines of the access log."""
    conf.set_override("use_stderr", False)
    root = logging.getLogger()
    root.addHandler(handler)
    logger = logging.getLogger(access_lines.LOGGER)
    former = logger.level
    logger.setLevel(logging.DEBUG)
    try:
        access_lines.use(conf)
        logs.guard()
        for text in texts:
            logger.log(level, "%s", text, extra={"context": context.get_current()})
    finally:
        logger.setLevel(former)
        root.removeHandler(handler)
    return handler.stream.getvalue()


def both_ways(monkeypatch: pytest.MonkeyPatch, level: int, *texts: str) -> tuple[str, str]:
    """Return the lines of the service, and those of oslo.log, at the same time."""
    monkeypatch.setattr(time, "time", lambda: 1_000_000_000.0625)
    # Python 3.13 creates records with this one.
    monkeypatch.setattr(time, "time_ns", lambda: 1_000_000_000_062_500_000)
    lines = []
    for replace in (True, False):
        conf = config.options()
        config.parse(conf, [], [])
        handler = logging.StreamHandler(io.StringIO())
        make = ContextFormatter if replace else type("Other", (ContextFormatter,), {})
        handler.setFormatter(make(datefmt=conf.log_date_format, config=conf))
        lines.append(written(conf, handler, level, *texts))
        assert isinstance(handler.formatter, access_lines.AccessFormatter) is replace
    return lines[0], lines[1]


@pytest.mark.parametrize("level", [logging.DEBUG, logging.INFO, logging.WARNING])
@pytest.mark.parametrize(
    "stated",
    [
        {},
        {"user_id": "u", "project_id": "p", "roles": ["admin"], "auth_token": "secret"},
        {"user_domain_id": "d", "project_domain_id": "e", "system_scope": "all", "domain_id": "f"},
        {"global_request_id": "req-2", "user_id": "", "user_name": "n", "resource_uuid": ""},
        {"user_id": HOSTILE, "project_id": "100 %"},
    ],
)
def test_an_access_line_is_the_one_of_oslo_log(
    monkeypatch: pytest.MonkeyPatch, stated: dict[str, Any], level: int
) -> None:
    RequestContext(request_id="req-1", **stated)
    try:
        ours, theirs = both_ways(monkeypatch, level, "GET / 100 %", f"GET /{HOSTILE}")
    finally:
        oslo_context.clear()
    assert ours == theirs
    assert len(ours.splitlines()) == 2


def test_a_line_outside_of_a_request_is_the_one_of_oslo_log(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ours, theirs = both_ways(monkeypatch, logging.INFO, "stopped")
    assert ours == theirs


@pytest.mark.parametrize("option", access_lines.FORMATS)
def test_a_configured_format_is_used_for_access_lines(
    request_context: RequestContext, option: str
) -> None:
    conf = config.options()
    config.parse(conf, [], [])
    conf.set_override(option, "mine")
    handler = logging.StreamHandler(io.StringIO())
    handler.setFormatter(ContextFormatter(config=conf))
    assert "mine" in written(conf, handler, logging.INFO, "x")


def test_the_default_formats_are_those_of_oslo_log() -> None:
    conf = config.options()
    config.parse(conf, [], [])
    assert {option: conf[option] for option in access_lines.FORMATS} == access_lines.FORMATS


def test_json_and_other_handlers_keep_their_formatter() -> None:
    conf = config.options()
    config.parse(conf, [], [])
    journal = logging.NullHandler()
    journal.setFormatter(ContextFormatter(config=conf))
    stream = logging.StreamHandler(io.StringIO())
    stream.setFormatter(JSONFormatter())
    former = [journal.formatter, stream.formatter]
    root = logging.getLogger()
    for handler in (journal, stream):
        root.addHandler(handler)
    try:
        access_lines.use(conf)
        assert [journal.formatter, stream.formatter] == former
    finally:
        for handler in (journal, stream):
            root.removeHandler(handler)
