"""Large responses are written in pieces. They are complete, valid, and of the stated length."""

import tracemalloc
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from threading import Event
from typing import Any

import falcon.testing
import pytest
from falcon.testing import create_environ

from bench.clouds import flat
from bench.scenarios import FLAT
from placement.api import dispatch
from placement.api.dispatch import MAX_CHUNK
from placement.api.history import LATEST
from placement.errors import LargeWorkBusy
from placement.runtime import turns
from tests.kit.cloud import load
from tests.kit.service import HEADERS, Client, Service

HOSTS = 400  # with 50 traits each: more text than is written at once


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    with Service(tmp_path_factory.mktemp("large")) as service:
        load(service.database.writer, flat(HOSTS))
        yield service


@pytest.mark.parametrize("minor", [10, 12, 16, 17, 27, 29, 34, LATEST.minor])
def test_an_answer_in_pieces_is_the_same_as_one_in_a_piece(client: Client, minor: int) -> None:
    def get(limit: str) -> falcon.testing.Result:
        answer = client.expect(200, "GET", f"{FLAT}{limit}", version=f"1.{minor}")
        assert int(answer.headers["content-length"]) == len(answer.content)
        return answer

    whole = get("").json
    assert len(whole["allocation_requests"]) == len(whole["provider_summaries"]) == HOSTS
    if minor >= 16:
        some = get("&limit=3").json
        assert some["allocation_requests"] == whole["allocation_requests"][:3]
        for uuid, summary in some["provider_summaries"].items():
            assert whole["provider_summaries"][uuid] == summary


def send(client: Client, headers: dict[str, str]) -> Iterator[bytes]:
    """Yield a response in the pieces that a server writes. Set its headers."""
    path, _, query = FLAT.partition("?")

    def start(_status: str, fields: list[tuple[str, str]], *_: object) -> Any:
        headers.update((name.lower(), value) for name, value in fields)

    yield from client.application(create_environ(path, query, headers=HEADERS), start)


def test_an_answer_is_written_in_parts_of_bounded_length(client: Client) -> None:
    headers: dict[str, str] = {}
    lengths = [len(part) for part in send(client, headers)]
    assert sum(lengths) == int(headers["content-length"]) > 2 * MAX_CHUNK
    assert max(lengths) <= MAX_CHUNK
    # As few as that takes, but for what no part has room for at its end.
    assert len(lengths) <= 2 * sum(lengths) // MAX_CHUNK + 1


def test_a_piece_longer_than_a_part_is_a_part_by_itself(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = b"".join(send(client, {}))
    monkeypatch.setattr(dispatch, "MAX_CHUNK", 1000)
    parts = list(islice(send(client, {}), len(whole)))  # no more than that, were it without an end
    assert b"".join(parts) == whole
    assert all(parts)
    assert max(map(len, parts)) > 1000


def test_an_answer_takes_less_memory_than_its_text_where_trees_are_known(client: Client) -> None:
    """Data that trees share, and data that is cached with trees, is not copied."""
    length = sum(len(part) for part in send(client, {}))
    tracemalloc.start()
    try:
        assert sum(len(part) for part in send(client, {})) == length
        _taken, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert MAX_CHUNK < peak < length


def test_an_answer_in_pieces_is_logged_with_its_length(
    client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "placement.requestlog")
    answer = client.send("GET", FLAT)
    assert f"len: {len(answer.content)} " in caplog.records[-1].getMessage()


def test_a_request_whose_last_answer_was_large_waits_for_its_turn(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turns, "LARGE_RESPONSE", MAX_CHUNK)
    monkeypatch.setattr(turns, "MAX_WAIT_OF_LARGE_RESPONSE", 0.01)
    begun, go_on = Event(), Event()
    write = dispatch._write

    def slow(*arguments: Any) -> None:
        begun.set()
        assert go_on.wait(60)
        write(*arguments)

    client.expect(200, "GET", FLAT)  # the size is known from now on
    with ThreadPoolExecutor(1) as pool, monkeypatch.context() as patched:
        patched.setattr(dispatch, "_write", slow)
        first = pool.submit(client.expect, 200, "GET", FLAT)
        assert begun.wait(60)
        patched.setattr(dispatch, "_write", write)
        busy = client.expect(503, "GET", FLAT)
        assert "another large request" in busy.json["errors"][0]["detail"]
        client.expect(200, "GET", f"{FLAT}&limit=3")
        client.expect(200, "GET", "/traits")
        go_on.set()
        assert len(first.result().json["provider_summaries"]) == HOSTS
    client.expect(200, "GET", FLAT)


def test_large_responses_leave_threads_for_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "MAX_LARGE_RESPONSES", 1)
    large = turns.LargeResponses()
    large.note("/", turns.LARGE_RESPONSE + 1)
    with large.turn("/"):
        with pytest.raises(LargeWorkBusy), large.turn("/"):
            pass
        with large.turn("/small"):
            pass
    with large.turn("/"):
        pass


def test_a_request_whose_last_answer_was_small_does_not_wait(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(turns, "MAX_WAIT_OF_LARGE_RESPONSE", 0.01)
    large = turns.LargeResponses()
    large.note("/", turns.LARGE_RESPONSE + 1)
    with large.turn("/"), pytest.raises(LargeWorkBusy), large.turn("/"):
        pass
    large.note("/", turns.LARGE_RESPONSE)
    with large.turn("/"), large.turn("/"):
        pass
    for number in range(3 * turns.MAX_NOTED):
        large.note(str(number), turns.LARGE_RESPONSE + 1)
    assert len(large._large) <= turns.MAX_NOTED
