"""The loop of a worker looks at what may have changed, and at nothing else."""

from __future__ import annotations

import socket

import pytest

from placement.compat.waitress import Watched
from placement.wsgi.server import Channel


class Connection(Channel):
    """A connection that counts how often the loop looks at it, and takes what its client sends."""

    accepting = connecting = False
    connected = True

    def __init__(self) -> None:
        self.ours, self.clients = socket.socketpair()
        self.looks = 0
        self.taken = b""

    def readable(self) -> bool:
        self.looks += 1
        return True

    def writable(self) -> bool:
        return False

    def handle_read_event(self) -> None:
        self.taken += self.ours.recv(100)


@pytest.mark.parametrize("idle", [0, 100])
def test_an_idle_connection_is_looked_at_when_its_client_sends_and_not_before(idle: int) -> None:
    watched = Watched()
    connections = [Connection() for _ in range(1 + idle)]
    for each in connections:
        watched[each.ours.fileno()] = each
    for _ in range(5):
        watched.turn(0)
    assert {each.looks for each in connections} == {1}
    connections[0].clients.send(b"GET")
    for _ in range(5):
        watched.turn(0)
    assert connections[0].taken == b"GET"
    assert [each.looks for each in connections] == [2, *[1] * idle]
    for each in connections:
        del watched[each.ours.fileno()]
        each.ours.close()
        each.clients.close()


def test_an_event_of_a_closed_connection_is_not_one_of_the_next_with_its_number() -> None:
    watched = Watched()
    first, second, third = Connection(), Connection(), Connection()
    third.clients.send(b"x")

    def replace() -> None:
        for each in (first, second):
            file = each.ours.fileno()
            if file in watched:
                watched[file] = third

    first.handle_read_event = second.handle_read_event = replace  # type: ignore[method-assign]
    for each in (first, second):
        watched[each.ours.fileno()] = each
        each.clients.send(b"x")
    watched.turn(0)
    assert third.taken == b""
    for each in (first, second, third):
        each.ours.close()
        each.clients.close()
