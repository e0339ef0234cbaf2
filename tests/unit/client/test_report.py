"""`ReportClient.at`: separate connections."""

from __future__ import annotations

import asyncio
import inspect
import logging
import socket
import threading
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest
from keystoneauth1.exceptions import ConnectFailure, ConnectTimeout

import falcon_placement_client
from falcon_placement_client import ReportClient
from tests.kit.listener import listening

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

UUID = "00000000-0000-0000-0000-000000000001"
THREADS = 24
COROUTINES = 4
VERSIONS = b'{"versions": [{"id": "v1.0", "min_version": "1.0", "max_version": "1.39"}]}'


def test_a_server_that_never_answers_is_a_timeout() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        with pytest.raises(ConnectTimeout):
            ReportClient.at(url, "admin", timeout=0.1).release(UUID)


def test_a_connection_that_is_not_accepted_is_a_timeout() -> None:
    with ExitStack() as sockets:
        listener = sockets.enter_context(socket.create_server(("127.0.0.1", 0), backlog=0))
        address = listener.getsockname()
        # These fill the queue of the listener, so the next connection gets no answer at all.
        for _ in range(4):
            each = sockets.enter_context(socket.socket())
            each.setblocking(False)
            each.connect_ex(address)
        with pytest.raises(ConnectTimeout):
            ReportClient.at(f"http://127.0.0.1:{address[1]}", "admin", timeout=0.1).release(UUID)


def test_a_timeout_is_there_without_being_asked_for() -> None:
    assert inspect.signature(ReportClient.at).parameters["timeout"].default == 60


def together_at_barrier(together: threading.Barrier) -> WSGIApplication:
    """A service that responds when the barrier's number of requests are waiting."""

    def application(environ: WSGIEnvironment, respond: StartResponse) -> Iterable[bytes]:
        if environ["PATH_INFO"] == "/":
            respond("200 OK", [("Content-Type", "application/json")])
            return [VERSIONS]
        together.wait(60)
        respond("204 No Content", [])
        return []

    return application


def test_coroutines_share_a_client_by_threads() -> None:
    """The event loop goes on while they wait: the last one begins when the others have."""

    async def release_all(client: ReportClient) -> list[bool]:
        calls = [asyncio.to_thread(client.release, UUID) for _ in range(COROUTINES)]
        return await asyncio.gather(*calls)

    application = together_at_barrier(threading.Barrier(COROUTINES))
    # In a thread of its own: tests with a browser leave a loop running in this one.
    with listening(application) as url, ThreadPoolExecutor(1) as thread:
        client = ReportClient.at(url, "admin")
        released = thread.submit(lambda: asyncio.run(release_all(client))).result()
    assert released == [True] * COROUTINES


def test_many_threads_keep_their_connections(caplog: pytest.LogCaptureFixture) -> None:
    # Each thread needs a connection of its own.
    application = together_at_barrier(threading.Barrier(THREADS))
    caplog.set_level(logging.WARNING, "urllib3")
    with listening(application) as url, ThreadPoolExecutor(THREADS) as threads:
        client = ReportClient.at(url, "admin")
        assert all(threads.map(client.release, [UUID] * THREADS))
    assert [record.getMessage() for record in caplog.records] == []


def test_the_package_lists_its_public_names_for_completion() -> None:
    assert {"NewConsumer", "ReportClient", "RequestError"} <= set(dir(falcon_placement_client))


def test_a_refused_connection_is_one_sentence() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    with pytest.raises(ConnectFailure) as caught:
        ReportClient.at(url, "admin").release(UUID)
    assert str(caught.value) == f"cannot reach {url}/: connection refused"
