"""Why single hosts are not served: which provider was the last to fall out, and what it has."""

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

from sqlalchemy.engine import Connection

from placement.candidates.explanation.profiles import Fall, Verdict
from placement.candidates.explanation.value import UnservedHost
from placement.candidates.model import Pool
from placement.candidates.request import CandidateRequest
from placement.candidates.terms import InTree, of_kind
from placement.db.statements import providers as statements
from placement.objects import provider_parts
from placement.objects.provider_parts import Part

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
        if verdict.fall is None or anchor is None or len(self._hosts) == MOST_HOSTS:
            return
        if self._trees and not any(term.positions(anchor) for term in self._trees):
            return
        self._hosts.append(_host(pool, verdict.fall, anchor.uuid))

    def read(self, conn: Connection) -> Sequence[UnservedHost]:
        """Return the hosts with the inventories that they lack room in, of two statements."""
        uuids = {host.provider for host in self._hosts if host.provider and host.resource_class}
        stocks = _stocks(conn, sorted(uuids)) if uuids else {}
        return [
            host._replace(stock=stocks.get((host.provider, host.resource_class)))
            for host in self._hosts
        ]


def _host(pool: Pool, fall: Fall, uuid: str) -> UnservedHost:
    host = UnservedHost(uuid, fall.code, fall.group)
    if not fall.providers:
        return host
    name = fall.term.resource_class if fall.term is not None else ""
    members = [pool.members[position] for position in fall.providers]
    if not name or fall.term is None:
        return host._replace(provider=members[0].uuid)
    amount = fall.term.amount
    stocked = [member for member in members if name in member.stocks]
    if not stocked:
        # Nobody has an inventory, so no provider is to blame before others.
        return host._replace(resource_class=name, asked=amount)
    rooms = [member.stocks[name].capacity - member.stocks[name].used for member in stocked]
    room = max(rooms)
    nearest = stocked[rooms.index(room)]
    return host._replace(provider=nearest.uuid, resource_class=name, asked=amount, room=room)


def _stocks(
    conn: Connection, uuids: Sequence[str]
) -> Mapping[tuple[str | None, str | None], Mapping[str, Any]]:
    """Return (provider, class) -> the fields of the inventory, and what is used of it."""
    rows = statements.whole(uuids).rows(conn)
    uuid_by_id = {row_id: uuid for uuid, *_, row_id, _revision in rows}
    parts = provider_parts.read(conn, uuid_by_id, (Part.INVENTORIES, Part.USAGES))
    usages = parts[Part.USAGES]
    stocks: dict[tuple[str | None, str | None], Mapping[str, Any]] = {}
    for row_id, by_class in parts[Part.INVENTORIES].items():
        for name, inventory in by_class.items():
            stocks[uuid_by_id[row_id], name] = {**inventory, "used": usages[row_id][name]}
    return stocks
