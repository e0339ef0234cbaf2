"""Every record is logged as one line, and its content cannot move a terminal's cursor."""

import io
import logging
from collections.abc import Iterator

import pytest
from oslo_context.context import RequestContext
from oslo_log import log as oslo_log
from oslo_log.formatters import ContextFormatter, JSONFormatter

from placement import config
from placement.compat import oslo_context
from placement.runtime import logs

HOSTILE = "a\nb\r\x1b[31m\x00\x85\u2028\u2029\u202e\ud800\tc é😀"
SHOWN = r"a\nb\r\x1b[31m\x00\x85\u2028\u2029\u202e\ud800\tc é😀"


@pytest.fixture
def stream() -> Iterator[io.StringIO]:
    written = io.StringIO()
    handler = logging.StreamHandler(written)
    logger = logging.getLogger("tests.logs")
    logger.addHandler(handler)
    yield written
    logger.removeHandler(handler)


def use(formatter: logging.Formatter) -> logging.Logger:
    logger = logging.getLogger("tests.logs")
    (handler,) = logger.handlers
    handler.setFormatter(formatter)
    logs.guard()
    return logger


def plain(form: str = "%(message)s") -> logging.Formatter:
    return logging.Formatter(form)


def oslo() -> logging.Formatter:
    conf = config.options()
    config.parse(conf, [], [])
    return ContextFormatter(config=conf)


@pytest.mark.parametrize("make", [plain, oslo])
def test_a_record_with_any_content_is_one_line(stream: io.StringIO, make: type) -> None:
    use(make()).warning('"GET %s" %s', HOSTILE, {"a": HOSTILE})
    written = stream.getvalue()
    assert SHOWN in written
    assert written.removesuffix("\n").isprintable()


def test_what_a_context_brings_is_escaped_too(stream: io.StringIO) -> None:
    form = "\x1b[1m%(color)s%(user)s %(message)s"
    use(plain(form)).warning("x", extra={"user": HOSTILE, "color": "\x1b[2m"})
    assert stream.getvalue() == f"\x1b[1m\x1b[2m{SHOWN} x\n"


def test_the_identity_of_a_caller_is_escaped_too(stream: io.StringIO) -> None:
    RequestContext(request_id="req-1", user_id=HOSTILE, project_id="p")
    try:
        use(oslo()).warning("x")
    finally:
        oslo_context.clear()
    assert f" [None req-1 {SHOWN} p - - - -] x" in stream.getvalue()
    assert stream.getvalue().removesuffix("\n").isprintable()


@pytest.mark.parametrize("make", [plain, oslo])
def test_only_a_trace_has_lines(stream: io.StringIO, make: type) -> None:
    try:
        raise RuntimeError(HOSTILE)
    except RuntimeError:
        use(make()).exception("it broke")
    first, *trace = stream.getvalue().splitlines()
    assert "it broke" in first
    assert len(trace) > 3
    assert all(line.isprintable() for line in [first, *trace])


def test_json_stays_json(stream: io.StringIO) -> None:
    use(JSONFormatter()).warning(HOSTILE)
    assert len(stream.getvalue().splitlines()) == 1


def test_guarding_again_changes_nothing(stream: io.StringIO) -> None:
    logger = use(plain())
    (handler,) = logger.handlers
    assert handler.formatter is not None
    before = vars(handler.formatter)["formatMessage"]
    logs.guard()
    assert vars(handler.formatter)["formatMessage"] is before


def test_the_service_guards_what_it_logs(
    monkeypatch: pytest.MonkeyPatch, stream: io.StringIO
) -> None:
    monkeypatch.setattr(oslo_log, "setup", lambda *args: None)
    conf = config.options()
    config.parse(conf, [], [])
    config.setup_logging(conf)
    logging.getLogger("tests.logs").warning(HOSTILE)
    assert stream.getvalue() == f"{SHOWN}\n"
