"""What is sent to a client that does not read."""

import socket
from collections.abc import Iterator

import pytest

from placement.wsgi.client import UNSENT, Client

PIECES = [bytes([number]) * 70_001 for number in range(200)]


@pytest.fixture
def ends() -> Iterator[tuple[Client, socket.socket]]:
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    client = Client(ours)
    with theirs:
        yield client, theirs
        client.close()


def test_nobody_waits_for_a_client_that_does_not_read_and_it_gets_all(
    ends: tuple[Client, socket.socket],
) -> None:
    client, theirs = ends
    for piece in PIECES:
        client.sendall(piece)
    whole = b"".join(PIECES)
    assert client.unsent > 4 * UNSENT
    received = bytearray()
    while client.unsent:
        received += theirs.recv(1_000_000)
        client.flush()
    theirs.setblocking(False)
    while len(received) < len(whole):
        received += theirs.recv(1_000_000)
    assert received == whole


def test_the_head_goes_with_the_first_of_the_body_or_when_it_is_flushed(
    ends: tuple[Client, socket.socket],
) -> None:
    client, theirs = ends
    theirs.setblocking(False)
    client.sendall(b"head")
    with pytest.raises(BlockingIOError):
        theirs.recv(100)
    client.sendall(b"body")
    assert theirs.recv(100) == b"headbody"
    client.sendall(b"more")
    assert theirs.recv(100) == b"more"


def test_a_head_without_a_body_is_sent_when_it_is_flushed(
    ends: tuple[Client, socket.socket],
) -> None:
    client, theirs = ends
    client.sendall(b"head")
    assert client.unsent == 4
    assert client.flush() == 4
    assert client.unsent == 0
    assert theirs.recv(100) == b"head"


def test_a_client_that_is_gone_is_an_error(ends: tuple[Client, socket.socket]) -> None:
    client, theirs = ends
    for piece in PIECES:
        client.sendall(piece)
    theirs.close()
    with pytest.raises(OSError, match=r"Broken pipe|reset"):
        client.flush()


def test_what_gunicorn_says_to_one_who_waits_is_not_said_twice(
    ends: tuple[Client, socket.socket],
) -> None:
    client, theirs = ends
    said = b"HTTP/1.1 100 Continue\r\n\r\n"
    client.say(said)
    assert client.send(said) == len(said)
    client.close()
    assert theirs.recv(1000) == said
