"""One row of the table."""

from __future__ import annotations

from dataclasses import dataclass

from tests.kit.cloud import Cloud


@dataclass(frozen=True)
class Scenario:
    """One row of the table.

    does: the kind of client in `clients.py`; what: its argument. at_once: clients at a time.
    peer: whether the peer is measured; it does not complete some requests in reasonable time.
    """

    name: str
    cloud: Cloud
    does: str
    what: str = ""
    at_once: int = 1
    peer: bool = True
