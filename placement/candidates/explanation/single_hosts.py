"""Why single hosts are not served: which provider was the last to fall out, and what it has."""

from collections.abc import Sequence
from itertools import chain

from sqlalchemy.engine import Connection

from placement.candidates.explanation.profiles import Fall, Verdict
from placement.candidates.explanation.value import UnservedHost
from placement.candidates.model import Pool
from placement.candidates.request import CandidateRequest
from placement.candidates.terms import InTree, of_kind
from placement.candidates.terms.amounts import Amount
from placement.candidates.trees.inventories import read_inventories

MOST_HOSTS = 100


class SingleHosts:
    """The first hosts that are not served; where the request names a tree, only that one's."""

    def __init__(self, request: CandidateRequest) -> None:
        self._hosts: list[UnservedHost] = []
        trees = [of_kind(group.terms, InTree) for group in request.groups]
        self._trees = list(chain(*trees))

    def add(self, pool: Pool, verdict: Verdict) -> None:
        """Look at a host."""
        anchor = pool.anchor
        if not verdict.falls or anchor is None or len(self._hosts) == MOST_HOSTS:
            return
        if self._trees and not any(term.positions(anchor) for term in self._trees):
            return
        self._hosts.append(_host(pool, verdict.falls[0], anchor.uuid))

    def read(self, conn: Connection) -> Sequence[UnservedHost]:
        """Return the hosts with the inventories that they lack room in, of two statements."""
        lacking = [(host.provider, host.resource_class) for host in self._hosts]
        uuids = {provider for provider, resource_class in lacking if provider and resource_class}
        stocks = read_inventories(conn, sorted(uuids)) if uuids else {}
        return [
            host._replace(stock=stocks.get(key))
            for host, key in zip(self._hosts, lacking, strict=True)
        ]


def _host(pool: Pool, fall: Fall, uuid: str) -> UnservedHost:
    host = UnservedHost(uuid, fall.code, fall.group)
    if not fall.providers:
        return host
    members = [pool.members[position] for position in fall.providers]
    amount = fall.cause.terms[-1].value if fall.cause.terms else None
    if not isinstance(amount, Amount):
        return host._replace(provider=members[0].uuid)
    name, units = amount
    stocked = [member for member in members if name in member.stocks]
    if not stocked:
        # Nobody has an inventory, so no provider is to blame before others.
        return host._replace(resource_class=name, asked=units)
    nearest, room = stocked[0], None
    for member in stocked:
        stock = member.stocks[name]
        free = stock.capacity - stock.used
        if room is None or free > room:
            nearest, room = member, free
    return host._replace(provider=nearest.uuid, resource_class=name, asked=units, room=room)
