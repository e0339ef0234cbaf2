"""The worker's limits and deadlines, and the orderly end of connections."""

from __future__ import annotations

import errno
import select
import socket
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from gunicorn.config import Config
from gunicorn.glogging import Logger
from waitress.buffers import OverflowableBuffer

from placement.compat import waitress
from placement.wsgi import request, server
from placement.wsgi.worker import Worker
from tests.unit.wsgi.serving import PATIENCE, TOKEN, is_open, rest, serving, statuses

GET = b"GET / HTTP/1.1\r\n" + TOKEN + b"\r\n"
LAST = b"GET / HTTP/1.1\r\n" + TOKEN + b"Connection: close\r\n\r\n"
MAX_BODY = 1000
BODY = b"POST / HTTP/1.1\r\n" + TOKEN + b"Content-Length: 1000\r\n\r\n" + b"x" * 900


def no_content(_environ: object, start_response: Any) -> list[bytes]:
    start_response("204 No Content", [])
    return []


def receive(sock: socket.socket, count: int = 1) -> bytes:
    """So many answers without a body, or with one of four bytes."""
    received = b""
    while received.count(b"\r\n\r\n") < count or not received.endswith((b"seen", b"\r\n\r\n")):
        piece = sock.recv(65536)
        assert piece, received
        received += piece
    return received


# -- bounds ---------------------------------------------------------------------------------


def test_bodies_beyond_the_bound_of_a_worker_are_refused_and_others_untouched() -> None:
    with serving(max_body=MAX_BODY) as site:
        bound = request.MAX_BODIES * MAX_BODY
        clients = [site.connect(BODY) for _ in range(bound // 900)]
        site.until(lambda: site.worker.settings.gathered == 900 * len(clients))
        with site.connect(BODY) as one_more:
            assert statuses(rest(one_more)) == [500]  # the application, which cannot read it
        assert site.worker.settings.gathered == 900 * len(clients)
        for sock in clients:
            sock.sendall(b"x" * 100)
            assert statuses(receive(sock)) == [200]
            sock.close()
        assert [len(body) for _, body in site.seen] == [MAX_BODY] * len(clients)
        site.until(lambda: site.worker.settings.gathered == 0)


def test_heads_are_gathered_within_the_same_bound_and_held_once() -> None:
    with serving(max_body=MAX_BODY) as site:
        head = b"GET / HTTP/1.1\r\nX: " + b"x" * (MAX_BODY - 19)
        clients = [site.connect(head) for _ in range(request.MAX_BODIES)]
        site.until(lambda: site.worker.settings.gathered == request.MAX_BODIES * MAX_BODY)
        with site.connect(b"GET / H") as one_more:
            assert statuses(rest(one_more)) == [503]
        requests = [each.request for each in site.channels() if each.request]
        assert [each.header_plus for each in requests] == [b""] * len(clients)
        for sock in clients:
            sock.sendall(b"\r\n\r\n")
            assert statuses(receive(sock)) == [200]
            sock.close()
        assert site.worker.settings.gathered == 0


def test_what_was_gathered_of_a_client_that_goes_away_is_given_up() -> None:
    with serving() as site:
        for sent in (BODY, b"GET / HTTP/1.1\r\nHost:", BODY.replace(b"900", b"9")):
            with site.connect(sent):
                site.until(lambda: site.worker.settings.gathered > 0)
            site.until(lambda: site.worker.settings.gathered == 0)


def test_a_full_disk_ends_one_request_with_its_body(monkeypatch: pytest.MonkeyPatch) -> None:
    class Full:
        def write(self, _data: bytes) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

        close = write  # as the file does, which tries again

        def seek(self, *_place: int) -> None:
            pass

        def tell(self) -> int:
            return 0

    monkeypatch.setattr(tempfile, "TemporaryFile", lambda *_options: Full())
    with serving(max_body=2**20) as site:
        head = b"POST / HTTP/1.1\r\n" + TOKEN + b"Content-Length: 600000\r\n\r\n"
        with site.connect(head + b"x" * request.IN_MEMORY) as sock:
            assert statuses(rest(sock)) == [500]  # the application, which cannot read it
        assert statuses(site.answer(GET)) == [200]
        site.until(lambda: site.worker.settings.gathered == 0)


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EMFILE])
def test_an_answer_that_cannot_be_kept_ends_and_no_other(
    monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    closed = threading.Event()

    class Pieces:
        def __iter__(self) -> Iterator[bytes]:
            for _ in range(64):
                yield b"x" * 2**20

        def close(self) -> None:
            closed.set()

    def application(environ: Any, start_response: Any) -> Any:
        if environ["PATH_INFO"] != "/large":
            return no_content(environ, start_response)
        start_response("200 OK", [("Content-Length", str(2**26))])
        return Pieces()

    def no_file(*_options: object) -> None:
        raise OSError(code, "no file")

    monkeypatch.setattr(tempfile, "TemporaryFile", no_file)
    with serving(application) as site:
        with site.connect(GET.replace(b"/ ", b"/large "), 2048) as sock:
            assert closed.wait(30)
            assert len(rest(sock)) < 2**26
        site.until(lambda: not site.channels())
        assert statuses(site.answer(GET)) == [204]


def test_an_unread_response_in_small_pieces_waits_in_a_file() -> None:
    def application(_environ: object, start_response: Any) -> Iterator[bytes]:
        start_response("200 OK", [("Content-Length", str(5000 * 1000))])
        return (b"%04d" % number * 250 for number in range(5000))

    with serving(application) as site, site.connect(LAST, 2048) as sock:
        site.until(lambda: site.worker.settings.answered == 1)
        (channel,) = site.channels()
        assert channel.total_outbufs_len > 2 * 2**20
        assert [buffer.overflowed for buffer in channel.outbufs if len(buffer) > 2**20] == [True]
        body = rest(sock).partition(b"\r\n\r\n")[2]
        assert body == b"".join(b"%04d" % number * 250 for number in range(5000))


def test_a_response_that_the_client_accepts_is_sent_without_a_buffer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def application(_environ: object, start_response: Any) -> list[bytes]:
        start_response("200 OK", [("Content-Length", "200000")])
        return [b"x" * 100_000, b"y" * 100_000]

    def keep(_buffer: object, _data: bytes) -> None:
        pytest.fail("the response was buffered")

    monkeypatch.setattr(OverflowableBuffer, "append", keep)
    with serving(application) as site:
        body = site.answer(LAST).partition(b"\r\n\r\n")[2]
    assert body == b"x" * 100_000 + b"y" * 100_000


def test_a_kept_connection_does_not_hold_its_last_answer() -> None:
    def application(_environ: object, start_response: Any) -> list[bytes]:
        start_response("200 OK", [("Content-Length", str(500_000))])
        return [b"x" * 500_000]

    with serving(application) as site, site.connect(GET) as sock:
        taken = 0
        while taken < 500_000:
            taken += len(sock.recv(65536))
        site.until(lambda: site.channels()[0].total_outbufs_len == 0)
        site.until(lambda: [buffer.buf for buffer in site.channels()[0].outbufs] == [None])


# -- connections ----------------------------------------------------------------------------


def test_a_request_that_comes_with_its_connection_is_answered_without_a_wait(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    waits: list[int] = []
    accept, wait_for = server.Server.accept, waitress.Watched._wait_for

    def accept_with_request(self: server.Server) -> Any:
        accepted = accept(self)
        if accepted is not None:
            select.select([accepted[0]], [], [], PATIENCE)
        return accepted

    def note(self: waitress.Watched, file: int, flags: int) -> None:
        if flags and isinstance(self.get(file), server.Channel):
            waits.append(flags)
        wait_for(self, file, flags)

    monkeypatch.setattr(server.Server, "accept", accept_with_request)
    monkeypatch.setattr(waitress.Watched, "_wait_for", note)
    with serving() as site:
        assert statuses(site.answer(LAST)) == [200]
        assert waits == []


def test_the_client_that_waits_longest_gives_way_to_a_newcomer() -> None:
    with serving(worker_connections=8) as site:
        clients = []
        for number in range(20):
            clients.append(site.connect())
            site.until(lambda: len(site.channels()) <= 8)
            site.until(lambda: clients[-1].getsockname() in {c.addr for c in site.channels()})
            if number == 5:
                clients[0].sendall(GET)
                receive(clients[0])
        assert [is_open(sock) for sock in clients] == [False] * 12 + [True] * 8
        for sock in clients:
            sock.close()


def test_a_busy_worker_leaves_a_newcomer_for_a_moment_and_accepts_it_then(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(server, "YIELD_SECONDS", 30.0)
    go_on = threading.Event()

    def application(environ: Any, start_response: Any) -> list[bytes]:
        assert environ["PATH_INFO"] != "/wait" or go_on.wait(30)
        return no_content(environ, start_response)

    waiting = GET.replace(b"/ ", b"/wait ")
    with serving(application, workers=2) as site, site.connect(waiting) as first:
        (listener,) = site.worker.servers
        site.until(lambda: listener.task_dispatcher.active_count == 1)
        with site.connect(GET) as second:
            site.until(lambda: bool(listener.yields_until))
            assert len(site.channels()) == 1
            go_on.set()  # idle, it accepts before the time is over
            assert statuses(receive(first) + receive(second)) == [204, 204]
            go_on.clear()
            site.until(lambda: listener.task_dispatcher.active_count == 0)
            first.sendall(GET.replace(b"/ ", b"/wait "))
            site.until(lambda: listener.task_dispatcher.active_count == 1)
            with site.connect(GET) as third:
                site.until(lambda: bool(listener.yields_until))
                listener.yields_until = 1.0  # long ago
                assert statuses(receive(third)) == [204]
            site.until(lambda: listener.yields_until is None)
            go_on.set()


def test_a_busy_worker_that_is_the_only_one_accepts_a_newcomer_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(server, "YIELD_SECONDS", 30.0)
    go_on = threading.Event()

    def application(environ: Any, start_response: Any) -> list[bytes]:
        assert environ["PATH_INFO"] != "/wait" or go_on.wait(30)
        return no_content(environ, start_response)

    waiting = GET.replace(b"/ ", b"/wait ")
    with serving(application) as site, site.connect(waiting) as first:
        site.until(lambda: [bool(each.requests) for each in site.channels()] == [True])
        with site.connect(GET) as second:
            assert statuses(receive(second)) == [204]
        go_on.set()
        assert statuses(receive(first)) == [204]


def test_a_worker_without_files_waits_and_does_not_spin(monkeypatch: pytest.MonkeyPatch) -> None:
    tries: list[int] = []

    def accept(_self: object) -> None:
        tries.append(1)
        raise OSError(errno.EMFILE, "Too many open files")

    with serving() as site:
        monkeypatch.setattr("waitress.wasyncore.dispatcher.accept", accept)
        waiting = site.connect(LAST)
        site.until(lambda: len(tries) > 3)
        looks = site.worker.next_look
        before = len(tries)
        site.until(lambda: site.worker.next_look > looks + 0.2)
        assert len(tries) - before < 10  # one for each look
        monkeypatch.undo()
        assert statuses(rest(waiting)) == [200]
        waiting.close()


def test_a_client_that_trickles_ends_and_an_idle_one_that_was_answered_does_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(server, "CLIENT_TIMEOUT", 0.3)
    monkeypatch.setattr(server, "MIN_RATE", 1000)
    with serving() as site, site.connect(GET) as kept, site.connect() as silent:
        assert statuses(receive(kept)) == [200]
        with site.connect(b"GET / HTTP/1.1\r\nX: ") as trickling:
            looks = 0
            while is_open(trickling):
                trickling.sendall(b"x")
                threading.Event().wait(0.02)
                looks += 1
                assert looks < 500
        site.until(lambda: not is_open(silent))
        assert is_open(kept)
        kept.sendall(b"GE")
        site.until(lambda: not is_open(kept))


def test_a_client_that_does_not_take_its_answer_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "CLIENT_TIMEOUT", 0.3)

    def application(_environ: object, start_response: Any) -> list[bytes]:
        start_response("200 OK", [("Content-Length", str(2**24))])
        return [b"x" * 2**24]

    with serving(application) as site, site.connect(GET, 2048):
        site.until(lambda: bool(site.channels()))
        site.until(lambda: not site.channels())


def test_an_idle_connection_whose_time_is_over_takes_what_has_arrived(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with serving() as site, site.connect(GET) as sock:
        assert statuses(receive(sock)) == [200]
        (channel,) = site.channels()
        site.until(lambda: not channel.requests)
        # The loop does not look: at a busy moment it has not yet.
        monkeypatch.setattr(server.Channel, "readable", lambda self: False)
        looks = site.worker.next_look
        site.until(lambda: site.worker.next_look > looks)
        sock.sendall(GET)
        channel.deadline = 0.0
        assert statuses(receive(sock)) == [200]
        site.until(lambda: not channel.requests)
        channel.deadline = 0.0
        assert rest(sock) == b""


@pytest.mark.parametrize("body", [b"[]", b""])
def test_a_client_has_its_answer_before_the_body_is_closed(body: bytes) -> None:
    received: list[bytes] = []

    class Body(list[bytes]):
        def close(self) -> None:
            received.append(client.recv(1000, socket.MSG_DONTWAIT))

    def application(_environ: object, start_response: Any) -> Body:
        start_response("200 OK", [("Content-Length", str(len(body)))])
        return Body([body])

    with serving(application) as site:
        client = site.connect()
        client.sendall(GET)
        site.until(lambda: bool(received))
        client.close()
    assert received[0].startswith(b"HTTP/1.1 200 OK\r\n")
    assert received[0].endswith(b"\r\n\r\n" + body)


@pytest.mark.parametrize(
    ("answer", "method"),
    [("204 No Content", b"GET"), ("200 OK", b"HEAD"), ("304 Not Modified", b"GET")],
)
def test_an_answer_without_a_body_keeps_the_connection(answer: str, method: bytes) -> None:
    def application(_environ: object, start_response: Any) -> list[bytes]:
        start_response(answer, [("Content-Length", "4")] if answer == "200 OK" else [])
        return []

    with serving(application) as site, site.connect(GET.replace(b"GET", method) * 2) as sock:
        found = receive(sock, 2)
        assert statuses(found) == [int(answer[:3])] * 2
        assert b"Connection" not in found
        assert b"Transfer-Encoding" not in found


def test_an_answer_without_a_length_goes_in_chunks_and_keeps_the_connection() -> None:
    def application(_environ: object, start_response: Any) -> Iterator[bytes]:
        start_response("200 OK", [])
        return iter([b"ab", b"", b"cde"])

    with serving(application) as site:
        assert site.answer(GET * 2).count(b"\r\n\r\n2\r\nab\r\n3\r\ncde\r\n0\r\n\r\n") == 2
        old = GET.replace(b"HTTP/1.1", b"HTTP/1.0")
        assert site.answer(old).endswith(b"\r\n\r\nabcde")


@pytest.mark.parametrize(
    ("request_text", "lingers"),
    [
        (b"GET / HTTP/1.1\r\nConnection: close\r\n\r\n", False),
        (b"GET / HTTP/1.0\r\n\r\n", False),
        # It has sent more all the same, or still does: closed now, the connection might be reset.
        (b"GET / HTTP/1.1\r\nConnection: close\r\n\r\nGET / HTTP/1.1\r\n", True),
        (b"GET / HTTP/1.1\r\nConnection: close\r\nContent-Length: x\r\n\r\n", True),
        (b"POST / HTTP/1.1\r\nContent-Length: 9\r\n\r\n", True),
    ],
)
def test_only_a_client_that_sends_no_more_is_not_waited_for(
    request_text: bytes, lingers: bool
) -> None:
    with serving() as site, site.connect(request_text) as client:
        assert rest(client).startswith(b"HTTP/1.")
        # Either way it has its answer, and the end.
        if lingers:
            assert [each.lingers for each in site.channels()] == [True]
            client.sendall(b"x" * 10_000)
            client.shutdown(socket.SHUT_WR)
        site.until(lambda: not site.channels())


def test_small_packets_of_a_connection_are_sent_at_once() -> None:
    with serving() as site, site.connect(GET) as sock:
        receive(sock)
        (channel,) = site.channels()
        # gunicorn sets the option on the listener, and on Linux, connections inherit it.
        assert channel.socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) == 1


# -- the end --------------------------------------------------------------------------------


def test_clients_of_kept_connections_get_all_responses_and_connection_close() -> None:
    with serving(graceful_timeout=30) as site:
        kept, late, never = site.connect(GET), site.connect(b"GET / "), site.connect(GET)
        assert [statuses(receive(sock)) for sock in (kept, never)] == [[200], [200]]
        site.until(lambda: len(site.channels()) == 3)
        site.worker.handle_exit(0, None)
        site.until(lambda: site.worker.settings.stopping)
        kept.sendall(GET)
        assert b"\r\nConnection: close\r\n" in rest(kept)
        late.sendall(b"HTTP/1.1\r\n\r\n")
        assert b"\r\nConnection: close\r\n" in rest(late)
        assert rest(never) == b""
        for sock in (kept, late, never):
            sock.close()


def test_clients_that_have_connected_before_the_end_are_answered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with serving(graceful_timeout=30) as site:
        monkeypatch.setattr(server.Server, "readable", lambda self: False)
        clients = [site.connect(GET) for _ in range(3)]
        site.worker.handle_exit(0, None)
        assert [statuses(rest(sock)) for sock in clients] == [[200]] * 3
        for sock in clients:
            sock.close()


def test_a_worker_ends_after_so_many_requests() -> None:
    with serving(max_requests=3) as site, site.connect() as sock:
        for _ in range(2):
            sock.sendall(GET)
            assert b"Connection" not in receive(sock)
        sock.sendall(GET)
        receive(sock)
        site.until(lambda: site.worker.settings.stopping)
        sock.sendall(GET)
        assert b"\r\nConnection: close\r\n" in rest(sock)


def test_without_keepalive_a_connection_carries_one_request() -> None:
    with serving(keepalive=0) as site:
        assert statuses(site.answer(GET * 2)) == [200]


def test_a_fault_is_500_and_the_thread_goes_on() -> None:
    def application(environ: Any, start_response: Any) -> list[bytes]:
        if environ["PATH_INFO"] == "/":
            raise RuntimeError
        return no_content(environ, start_response)

    with serving(application, threads=1) as site:
        assert statuses(site.answer(GET)) == [500]
        assert statuses(site.answer(GET.replace(b"/ ", b"/x "))) == [204]


def test_tls_is_refused(tmp_path: Path) -> None:
    cfg = Config()
    Worker.check_config(cfg, Logger(cfg))
    cfg.set("certfile", str(tmp_path / "certificate"))
    with pytest.raises(SystemExit, match="not support TLS"):
        Worker.check_config(cfg, Logger(cfg))
