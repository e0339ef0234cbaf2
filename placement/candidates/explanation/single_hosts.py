"""Explanations of single hosts, with the last provider that was rejected."""

from collections.abc import Sequence
from itertools import chain

from sqlalchemy.engine import Connection

from placement.candidates.explanation.evaluation import Evaluation, Rejection
from placement.candidates.explanation.value import UnservedHost
from placement.candidates.model import Pool
from placement.candidates.request import CandidateRequest
from placement.candidates.terms import InTree, of_kind
from placement.candidates.terms.amounts import Amount
from placement.candidates.trees.inventories import read_inventories

# Maximum number of hosts in a response.
MAX_HOSTS = 100


class SingleHosts:
    """The first rejected hosts. If the request names trees, only hosts in these trees."""

    def __init__(self, request: CandidateRequest) -> None:
        # The hosts in the order of their evaluation.
        self._hosts: list[UnservedHost] = []
        trees = [of_kind(group.terms, InTree) for group in request.groups]
        # The terms that name trees.
        self._trees = list(chain(*trees))

    def add(self, pool: Pool, evaluation: Evaluation) -> None:
        """Add a host, unless the host is served or the request names other trees."""
        anchor = pool.anchor
        if not evaluation.rejections or anchor is None or len(self._hosts) == MAX_HOSTS:
            return
        if self._trees and not any(term.positions(anchor) for term in self._trees):
            return
        self._hosts.append(_host(pool, evaluation.rejections[0], anchor.uuid))

    def read(self, conn: Connection) -> Sequence[UnservedHost]:
        """Return the hosts, with the inventories that lack capacity. Two statements read them."""
        lacking = [(host.provider, host.resource_class) for host in self._hosts]
        uuids = {provider for provider, resource_class in lacking if provider and resource_class}
        stocks = read_inventories(conn, sorted(uuids)) if uuids else {}
        return [
            host._replace(stock=stocks.get(key))
            for host, key in zip(self._hosts, lacking, strict=True)
        ]


def _host(pool: Pool, rejection: Rejection, uuid: str) -> UnservedHost:
    host = UnservedHost(uuid, rejection.code, rejection.group)
    if not rejection.providers:
        return host
    members = [pool.members[position] for position in rejection.providers]
    amount = rejection.cause.terms[-1].value if rejection.cause.terms else None
    if not isinstance(amount, Amount):
        return host._replace(provider=members[0].uuid)
    name, units = amount
    stocked = [member for member in members if name in member.stocks]
    if not stocked:
        # No provider has an inventory, so there is no single responsible provider.
        return host._replace(resource_class=name, asked=units)
    nearest, room = stocked[0], None
    for member in stocked:
        stock = member.stocks[name]
        free = stock.capacity - stock.used
        if room is None or free > room:
            nearest, room = member, free
    return host._replace(provider=nearest.uuid, resource_class=name, asked=units, room=room)
