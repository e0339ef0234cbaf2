"""The log of a request: its ids, its caller, and one line after the response."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import falcon.testing
import pytest
from oslo_context import context
from oslo_log.formatters import ContextFormatter, JSONFormatter

from placement import config
from placement.api import request_log
from placement.api.history import LATEST
from placement.api.routes import ROUTES
from placement.errors import DatabaseUnavailable
from placement.objects import health
from placement.runtime import events, stopwatch
from tests.api.identity import identity_service, with_keystone
from tests.kit import service as kit
from tests.kit.builders import make_app
from tests.kit.service import Client
from tests.kit.statements import counted

GLOBAL = "req-00000000-0000-4000-8000-000000000000"
NOBODY = "- - - - - -"
HEADERS = {**kit.HEADERS, "X-Auth-Token": "admin:p"}


@pytest.fixture
def lines() -> Iterator[list[str]]:
    """The log of a service with default options, without times and levels."""
    written: list[str] = []

    class Lines(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            written.append(self.format(record))

    conf = config.options()
    config.parse(conf, [], [])
    conf.set_override(
        "logging_context_format_string",
        "%(name)s [%(global_request_id)s %(request_id)s %(user_identity)s] %(message)s",
    )
    conf.set_override("logging_default_format_string", "%(name)s [-] %(message)s")
    handler = Lines(logging.INFO)
    handler.setFormatter(ContextFormatter(config=conf))
    root = logging.getLogger()
    # A test that reads a file of options may have left a level for the library's records.
    loggers = (root, logging.getLogger("keystonemiddleware"))
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.INFO)
    root.addHandler(handler)
    yield written
    root.removeHandler(handler)
    for logger, level in zip(loggers, levels, strict=True):
        logger.setLevel(level)


def access_lines(lines: list[str]) -> list[str]:
    """Return the lines of requests, without the further lines of slow ones."""
    of_log = [line for line in lines if line.startswith("placement.requestlog ")]
    return [line for line in of_log if "slow: " not in line]


def test_the_line_of_a_request_is_as_operators_know_it(tmp_path: Path, lines: list[str]) -> None:
    service = falcon.testing.TestClient(make_app(tmp_path))
    headers = {**HEADERS, "X-Openstack-Request-Id": GLOBAL}
    answer = service.simulate_get("/usages?project_id=p", headers=headers, remote_addr="192.0.2.1")
    own = answer.headers["x-openstack-request-id"]
    assert [re.sub(r"time: [0-9]+\.[0-9]{6}", "time: #", line) for line in access_lines(lines)] == [
        f"placement.requestlog [{GLOBAL} {own} admin p - - - -] "
        f'192.0.2.1 "GET /usages?project_id=p" status: 200 len: {len(answer.content)} '
        f"microversion: {LATEST} time: # statements: 2"
    ]


def test_a_global_id_that_is_none_is_not_taken(tmp_path: Path, lines: list[str]) -> None:
    service = falcon.testing.TestClient(make_app(tmp_path))
    service.simulate_get("/traits", headers={**HEADERS, "X-Openstack-Request-Id": f"{GLOBAL}x"})
    assert lines[-1].startswith("placement.requestlog [None req-")


def test_the_path_is_logged_as_it_was_sent(tmp_path: Path, lines: list[str]) -> None:
    service = falcon.testing.TestClient(make_app(tmp_path))
    service.simulate_get("/traits/x%0aforged%1b%25é", headers=HEADERS)
    assert '"GET /traits/x%0Aforged%1B%25%C3%A9"' in lines[-1]


def test_records_of_all_loggers_carry_both_ids(
    tmp_path: Path, lines: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Fault(Exception):
        pass

    def fail(*args: object) -> None:
        logging.getLogger("some.library").info("look here")
        raise Fault

    route = next(route for route in ROUTES if route.path == "/traits")
    monkeypatch.setattr(type(route), "target", property(fail))
    service = falcon.testing.TestClient(make_app(tmp_path))
    answer = service.simulate_get("/traits", headers={**HEADERS, "X-Openstack-Request-Id": GLOBAL})
    assert answer.status_code == 500
    about = f"[{GLOBAL} {answer.headers['x-openstack-request-id']} admin p - - - -]"
    assert [line.partition("]")[0] + "]" for line in lines[-3:]] == [
        f"some.library {about}",
        f"placement.api.problems {about}",
        f"placement.requestlog {about}",
    ]


def test_a_thread_forgets_a_request_when_it_is_answered(tmp_path: Path) -> None:
    service = falcon.testing.TestClient(make_app(tmp_path))
    for path in ("/traits", "/", "/nowhere"):
        service.simulate_get(path, headers=HEADERS)
        assert context.get_current() is None


def test_no_caller_is_logged_under_the_identity_of_another(
    tmp_path: Path, lines: list[str]
) -> None:
    claimed = {"X-User-Id": "victim", "X-Project-Id": "victim", "X-Roles": "admin"}
    forged = {**claimed, "OpenStack-API-Version": f"placement {LATEST}"}
    with identity_service() as url:
        service = with_keystone(tmp_path, url)
        tokens = ("token-admin", "token-nobody-knows", None)
        ids = []
        for token in tokens:
            headers = {**forged, **({"X-Auth-Token": token} if token else {})}
            answer = service.simulate_get("/traits", headers=headers)
            ids.append(answer.headers["x-openstack-request-id"])
        service.simulate_get("/", headers=forged)
    service.simulate_get("/traits", headers={**forged, "X-Auth-Token": "token-seen-by-nobody"})
    known, unknown, without, public, unasked = access_lines(lines)
    assert f"[None {ids[0]} u p - - default default]" in known
    assert f"[None {ids[1]} {NOBODY}]" in unknown
    assert f"[None {ids[2]} {NOBODY}]" in without
    assert [line.partition("status: ")[2][:3] for line in access_lines(lines)] == [
        "200", "401", "401", "200", "503",
    ]  # fmt: skip
    for line in (unknown, without, public, unasked):
        assert NOBODY in line
    rejections = [line for line in lines if line.startswith("keystonemiddleware")]
    assert any(f"[None {ids[1]} {NOBODY}] Invalid user token" in line for line in rejections)
    assert not any("victim" in line for line in lines)


# -- the layer alone ------------------------------------------------------------------------


def call(application: Any, lines: list[str], slow: float = 0) -> tuple[str, bytes]:
    started = falcon.testing.StartResponseMock()
    environ = falcon.testing.create_environ("/x", headers={"X-Openstack-Request-Id": GLOBAL})
    body = request_log.RequestLog(application, slow)(environ, started)
    try:
        content = b"".join(body)
    finally:
        if hasattr(body, "close"):
            body.close()
    return started.status or "", content


def test_a_fault_outside_of_the_application_is_500_as_json_and_logged(lines: list[str]) -> None:
    def application(environ: Any, start_response: Any) -> Any:
        raise RuntimeError("out of order")

    status, content = call(application, lines)
    assert status == "500 Internal Server Error"
    assert re.search(rb'"request_id":"req-[-0-9a-f]{36}"', content)
    assert b"out of order" not in content
    assert "out of order" in lines[0]
    assert all(line.startswith(f"placement.{name} [{GLOBAL} req-") for name, line in zip(
        ("api.request_log", "requestlog"), lines, strict=True
    ))  # fmt: skip


@pytest.mark.parametrize("started", [False, True])
def test_the_error_is_given_to_the_server_only_if_the_response_has_started(started: bool) -> None:
    def application(environ: Any, start_response: Any) -> Any:
        if started:
            start_response("200 OK", [])
        raise RuntimeError("out of order")

    errors: list[Any] = []
    outer: Any = request_log.RequestLog(application, 0)
    body = outer(falcon.testing.create_environ("/"), lambda *response: errors.append(response[2]))
    assert b"500" in b"".join(body)
    body.close()
    assert bool(errors[-1]) == started


def test_an_answer_in_pieces_keeps_its_context_until_it_is_sent(lines: list[str]) -> None:
    def pieces() -> Iterator[bytes]:
        yield b"one"
        logging.getLogger("some.library").info("between")
        yield b"two"

    def application(environ: Any, start_response: Any) -> Any:
        start_response("200 OK", [])
        return pieces()

    assert call(application, lines) == ("200 OK", b"onetwo")
    between, line = lines
    assert between.startswith(f"some.library [{GLOBAL} req-")
    assert "status: 200 len: 6 " in line
    assert context.get_current() is None


def test_an_answer_that_breaks_off_is_logged_with_what_was_sent(lines: list[str]) -> None:
    def pieces() -> Iterator[bytes]:
        yield b"one"
        raise OSError("gone")

    def application(environ: Any, start_response: Any) -> Any:
        start_response("200 OK", [])
        return pieces()

    with pytest.raises(OSError, match="gone"):
        call(application, lines)
    assert "status: 200 len: 3 " in lines[-1]
    assert context.get_current() is None


def test_the_line_is_not_rendered_without_a_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    def application(environ: Any, start_response: Any) -> Any:
        start_response("200 OK", [])
        return []

    uris: list[object] = []
    monkeypatch.setattr(request_log, "_uri", uris.append)
    monkeypatch.setattr(request_log.REQUEST_LOG, "level", logging.WARNING)
    request_log.REQUEST_LOG.manager._clear_cache()  # type: ignore[attr-defined]
    call(application, [])
    assert uris == []
    monkeypatch.setattr(request_log.REQUEST_LOG, "level", logging.INFO)
    request_log.REQUEST_LOG.manager._clear_cache()  # type: ignore[attr-defined]
    call(application, [])
    assert len(uris) == 1


# -- counts of a line, and requests without one ---------------------------------------------


def test_a_line_says_how_many_statements_the_database_got(tmp_path: Path, lines: list[str]) -> None:
    with kit.Service(tmp_path) as service:
        host = "11111111-1111-4111-8111-111111111111"
        service.expect(200, "POST", "/resource_providers", {"name": "h", "uuid": host})
        requests = (
            ("PUT", f"/resource_providers/{host}/inventories", kit.inventories(0, VCPU=8)),
            ("GET", f"/resource_providers/{host}", None),
            ("GET", "/allocation_candidates?resources=VCPU:1", None),
            ("PUT", "/allocations/22222222-2222-4222-8222-222222222222", kit.claim(
                {host: {"VCPU": 1}}
            )),
            ("GET", "/nowhere", None),
        )  # fmt: skip
        for method, path, body in requests:
            with counted(service.database) as statements:
                service.send(method, path, body)
            counts = f"statements: {len(statements)}{' candidates: 1' * ('?' in path)}"
            assert access_lines(lines)[-1].endswith(counts), path


def test_probes_that_succeed_are_lines_for_debugging_only(
    tmp_path: Path, lines: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with kit.Service(tmp_path) as service:
        service.send("GET", "/healthcheck")
        assert access_lines(lines) == []
        with monkeypatch.context() as broken:
            broken.setattr(health, "check", refuse_to_check)
            service.send("GET", "/healthcheck")
    (line,) = access_lines(lines)
    assert '"GET /healthcheck" status: 503' in line


def refuse_to_check(_database: object) -> None:
    raise DatabaseUnavailable("no route")


def test_a_slow_request_says_where_its_time_went(lines: list[str]) -> None:
    def application(environ: Any, start_response: Any) -> Any:
        start_response("200 OK", [])
        with stopwatch.TREES:
            pass
        with stopwatch.STATEMENT:
            pass
        return []

    call(application, lines, slow=1e-9)
    access, slow = lines
    assert access.startswith("placement.requestlog")
    assert re.search(
        r'placement\.requestlog \[.*] slow: "GET /x" took [0-9]+\.[0-9]{3} s and 1 statements: ',
        slow,
    )
    phases = {part.split()[0] for part in slow.rpartition("statements: ")[2].split(", ")}
    assert phases == {"other", "trees", "statements"}
    lines.clear()
    call(application, lines, slow=3600)
    call(application, lines, slow=0)
    assert [line for line in lines if "slow:" in line] == []


def test_the_phases_of_a_search_and_of_a_claim_are_named(tmp_path: Path, lines: list[str]) -> None:
    with kit.Service(tmp_path, placement={"slow_request": 1e-9}) as service:
        host = "11111111-1111-4111-8111-111111111111"
        service.expect(200, "POST", "/resource_providers", {"name": "h", "uuid": host})
        service.expect(
            200, "PUT", f"/resource_providers/{host}/inventories", kit.inventories(0, VCPU=8)
        )
        service.get("/allocation_candidates?resources=VCPU:1")
        searched = lines[-1]
        service.expect(
            204,
            "PUT",
            "/allocations/22222222-2222-4222-8222-222222222222",
            kit.claim({host: {"VCPU": 1}}),
        )
        claimed = lines[-1]
    for phase in ("begin", "names", "windows", "trees", "search", "rendering"):
        assert re.search(rf" {phase} [0-9]+\.[0-9]{{3}}\b", searched)
    for phase in ("begin", "locks", "statements", "commit"):
        assert re.search(rf" {phase} [0-9]+\.[0-9]{{3}}\b", claimed)


def test_a_line_in_json_has_its_facts_one_by_one(tmp_path: Path) -> None:
    records: list[logging.LogRecord] = []

    class Records(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            records.append(record)

    logger = logging.getLogger("placement.requestlog")
    handler = Records()
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        Client(make_app(tmp_path)).send("GET", "/traits")
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
    (record,) = records
    # What a format may name: where a line of the log comes from.
    assert (Path(record.pathname).name, record.funcName) == ("request_log.py", "end")
    line = json.loads(JSONFormatter().format(record))
    facts = line["extra"]
    assert set(facts) == {
        "client", "method", "uri", "status", "length", "microversion", "seconds", "statements",
    }  # fmt: skip
    assert (facts["method"], facts["uri"], facts["status"]) == ("GET", "/traits", "200")
    assert facts["statements"] == 1
    identity = {name: line["context"][name] for name in ("user", "project_id", "auth_token")}
    assert identity == {"user": "admin", "project_id": "admin", "auth_token": "***"}


def test_a_line_is_written_when_the_answer_has_been_sent(lines: list[str]) -> None:
    def application(environ: Any, start_response: Any) -> Any:
        start_response("200 OK", [])
        return [b"one", b"two"]

    environ = falcon.testing.create_environ("/x")
    body = request_log.RequestLog(application, 0)(environ, falcon.testing.StartResponseMock())
    assert b"".join(body) == b"onetwo"
    assert lines == []
    assert context.get_current() is not None
    body.close()  # type: ignore[attr-defined]
    (line,) = lines
    assert "status: 200 len: 6 " in line
    assert context.get_current() is None


def test_the_time_of_a_request_ends_before_it_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    def application(environ: Any, start_response: Any) -> Any:
        start_response("200 OK", [])
        return [b"one"]

    now = [100.0]
    monkeypatch.setattr(stopwatch, "perf_counter", lambda: now[0])
    seconds: list[object] = []
    stop = events.listen(lambda _event, details: seconds.append(details["seconds"]))
    environ = falcon.testing.create_environ("/x")
    body = request_log.RequestLog(application, 0)(environ, falcon.testing.StartResponseMock())
    now[0] += 60  # a client takes its time
    body.close()  # type: ignore[attr-defined]
    stop()
    assert seconds == [0]
