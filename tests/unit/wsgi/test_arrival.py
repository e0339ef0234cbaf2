"""When a request that comes in pieces is complete."""

from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from placement.wsgi.arrival import LONGEST_HEAD, OVERHEAD, Arrival, HeadTooLong

LONGEST = 1000  # bytes of a body

GET = b"GET / HTTP/1.1\r\nHost: x\r\n"
PUT = b"PUT / HTTP/1.1\r\nHost: x\r\n"
CHUNKED = PUT + b"Transfer-Encoding: chunked\r\n\r\n"

WHOLE = {
    "no body": GET + b"\r\n",
    "bare line feeds": b"GET / HTTP/1.1\nHost: x\n\n",
    "a body": PUT + b"content-length: 5\r\n\r\nab\r\nc",
    "an empty body": PUT + b"Content-Length:0\r\n\r\n",
    "chunks": CHUNKED + b"3\r\nabc\r\n0A;a=b\r\n0123456789\r\n0\r\n\r\n",
    "chunks and a trailer": CHUNKED + b"3 ;x\r\n\r\n0\r\n0\r\nA: b\r\nC: d\r\n\r\n",
    "a length that is none": PUT + b"Content-Length: -1\r\n\r\n",
    "a body that is too long": PUT + b"Content-Length: 1001\r\n\r\n",
    "a chunk without a size": CHUNKED + b"3\r\nabc\r\n-2\r\n",
    "a length with zeros before it": PUT + b"Content-Length: " + b"0" * 30 + b"2\r\n\r\nab",
    "chunks of what is packed": PUT + b"Transfer-Encoding: gzip ,\tchunked \r\n\r\n0\r\n\r\n",
    "chunks that are too long together": CHUNKED + b"3e8\r\n" + b"x" * 1000 + b"\r\n1\r\n",
}
# Heads that are refused whatever follows: who waits for it keeps the client waiting.
REFUSED = {
    "two lengths": PUT + b"Content-Length: 2\r\ncontent-length: 2\r\n\r\n",
    "a length and chunks": PUT + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n",
    "chunks and a length": PUT + b"Transfer-Encoding: chunked\r\nContent-Length: 0\r\n\r\n",
    "a coding that is none": PUT + b"Transfer-Encoding: xchunked\r\n\r\n",
    "chunks that are packed": PUT + b"Transfer-Encoding: chunked, gzip\r\n\r\n",
    "no coding": PUT + b"Transfer-Encoding:\r\nContent-Length: 2\r\n\r\n",
    "chunks of old": CHUNKED.replace(b"/1.1", b"/1.0"),
    "an expectation that nobody knows": PUT + b"Content-Length: 2\r\nExpect: 100\r\n\r\n",
    "a long line": PUT + b"Expect: a" + b" " * 250_000 + b"a\r\nContent-Length: 2\r\n\r\n",
}


@pytest.mark.parametrize("text", REFUSED.values(), ids=REFUSED)
def test_nothing_is_waited_for_after_a_head_that_is_refused(text: bytes) -> None:
    with closing(Arrival(LONGEST)) as arrival:
        arrival.take(text)
        assert arrival.complete
        assert not arrival.expects


def test_chunks_of_too_few_bytes_are_not_waited_for() -> None:
    with closing(Arrival(32 * OVERHEAD)) as arrival:
        arrival.take(CHUNKED)
        while not arrival.complete:
            arrival.take(b"1\r\nx\r\n" * 10_000)
        assert arrival.size < 2 * OVERHEAD


@pytest.mark.parametrize("text", WHOLE.values(), ids=WHOLE)
@given(st.data())
def test_a_request_is_complete_with_its_last_byte_however_it_is_cut(
    text: bytes, data: st.DataObject
) -> None:
    cuts = data.draw(st.sets(st.integers(1, len(text) - 1), max_size=9).map(sorted))
    with closing(Arrival(LONGEST)) as arrival:
        begin = 0
        for end in [*cuts, len(text)]:
            assert not arrival.complete
            arrival.take(text[begin:end])
            begin = end
        assert arrival.complete
        assert b"".join(arrival.pieces()) == text


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        (WHOLE["no body"], True),
        (WHOLE["a body"], True),
        (WHOLE["no body"] + b"G", False),
        (WHOLE["a body"] + b"\r", False),
        (WHOLE["a body that is too long"], False),
        (WHOLE["chunks"], False),
        (WHOLE["a chunk without a size"], False),
        (WHOLE["a body"][:-1], False),
    ],
)
def test_a_request_is_whole_where_all_of_it_has_come_and_nothing_more(
    text: bytes, whole: bool
) -> None:
    with closing(Arrival(LONGEST)) as arrival:
        arrival.take(text)
        assert arrival.whole is whole


def test_a_head_without_an_end_is_refused() -> None:
    with closing(Arrival(LONGEST)) as arrival, pytest.raises(HeadTooLong):
        arrival.take(b"x" * (LONGEST_HEAD + 1))


def test_a_trailer_without_an_end_is_not_waited_for() -> None:
    with closing(Arrival(LONGEST)) as arrival:
        arrival.take(CHUNKED + b"0\r\n")
        while not arrival.complete:
            arrival.take(b"A: b\r\n" * 10_000)
        assert arrival.size < 2 * OVERHEAD


def test_only_a_client_that_waits_for_the_word_expects_it() -> None:
    head = PUT + b"Content-Length: 1\r\nExpect: 100-continue\r\n\r\n"
    old = head.replace(b"/1.1", b"/1.0")
    for text, expects in ((head, True), (head + b"x", False), (old, False)):
        with closing(Arrival(LONGEST)) as arrival:
            arrival.take(text)
            assert arrival.expects is expects
