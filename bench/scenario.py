"""One row of the table."""

from __future__ import annotations

from dataclasses import dataclass

from tests.kit.cloud import Cloud


@dataclass(frozen=True)
class Scenario:
    name: str
    cloud: Cloud
    # Kind of the client, as in `clients.py`.
    does: str
    # Argument of the client.
    what: str = ""
    # Number of concurrent clients.
    at_once: int = 1
    # Turns that all clients together begin in a second, regardless of when earlier ones end. A turn
    # that begins late counts from the time at which it was due. None: each client begins a turn
    # when its previous one has ended.
    per_second: int | None = None
    # Whether the peer is measured. It does not complete some requests in reasonable time.
    peer: bool = True
    # Kind of a client that works during all turns and is not measured; empty for none.
    beside: str = ""
    workers: int = 2
