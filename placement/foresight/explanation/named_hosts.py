"""Single hosts: those that the text mentions apart, and those of the response."""

from collections.abc import Sequence
from itertools import chain

from sqlalchemy.engine import Connection

from placement.candidates.model import Member, Pool, Refusal
from placement.candidates.request import CandidateRequest
from placement.candidates.terms import STOCK_CONDITIONS, Amount, InTree, has_near, of_kind
from placement.foresight.explanation.causes import Rejection
from placement.foresight.explanation.explained_plan import ExplainedPlan
from placement.foresight.explanation.fit import Fit
from placement.foresight.explanation.rejected_hosts import RejectedHosts
from placement.foresight.explanation.value import UnservedHost
from placement.foresight.explanation.words.phrases import are
from placement.foresight.explanation.words.sentences import Words
from placement.inventory import fits
from placement.objects.provider_parts import read_inventories

# Maximum number of mentioned hosts with a provider in a tree that the request names.
MAX_NAMED = 3
# Maximum number of hosts in a response.
MAX_HOSTS = 100

# Code -> the condition on an inventory. If a near amount is free, the capacity is not the reason.
ALLOWS = {**dict(STOCK_CONDITIONS), Refusal.CAPACITY: has_near}


class NamedHosts:
    """The rejected hosts in the trees that a request names, which the text states one by one."""

    def __init__(self, plan: ExplainedPlan) -> None:
        # The terms that name a tree or subtree.
        self._places = plan.places.values()
        # UUID of each host -> its reasons: the root, and what rejects the host apart from the root.
        self._hosts: dict[str, list[tuple[Refusal, RejectedHosts]]] = {}

    def add(self, pool: Pool, fit: Fit) -> None:
        """Add a rejected host if the request names its tree."""
        anchor = pool.anchor
        if anchor is None or not any(term.positions(anchor) for term in self._places):
            return
        behind = fit.below_root if fit.root and not fit.is_lost else ()
        self._hosts[pool.root] = [
            (rejections[0].code, RejectedHosts.of_host(fit, pool, rejections))
            for rejections in (fit.stated, behind)
            if rejections
        ]

    @property
    def uuids(self) -> set[str]:
        """The UUIDs of the providers whose names the text contains."""
        uuids = {term.stored for term in self._places}
        if len(self._hosts) <= MAX_NAMED:
            reasons = [each for of_host in self._hosts.values() for _code, each in of_host]
            uuids = uuids.union(self._hosts, *(each.uuids for each in reasons))
        return uuids

    def clauses(self, words: Words, rejected: int) -> Sequence[str]:
        """Return clauses about all rejected hosts, or nothing if the request names none or many."""
        if not 0 < len(self._hosts) <= MAX_NAMED:
            return ()
        clauses = []
        for uuid, reasons in self._hosts.items():
            predicates = [words.predicate(code, *each.by_causes()) for code, each in reasons]
            label = words.facts.label(uuid)
            predicate = " and ".join(predicates).replace(f"the tree of {label}", "its tree")
            clauses.append(f"host {label} {predicate}")
        others = rejected - len(clauses)
        if others:
            trees = "its tree" if len(clauses) == 1 else "these trees"
            clauses.append(f"the other {others:,} {are(others)} not in {trees}")
        return clauses


class SingleHosts:
    """The first rejected hosts. If the request names trees, only hosts in these trees."""

    def __init__(self, request: CandidateRequest) -> None:
        # The hosts in the order of their evaluation.
        self._hosts: list[UnservedHost] = []
        trees = [of_kind(group.terms, InTree) for group in request.groups]
        # The terms that name trees.
        self._trees = list(chain(*trees))

    def add(self, pool: Pool, rejections: Sequence[Rejection]) -> None:
        """Add a host, unless the host is served or the request names other trees."""
        anchor = pool.anchor
        if not rejections or anchor is None or len(self._hosts) == MAX_HOSTS:
            return
        if self._trees and not any(term.positions(anchor) for term in self._trees):
            return
        self._hosts.append(_host(pool, rejections, anchor.uuid))

    def read(self, conn: Connection) -> Sequence[UnservedHost]:
        """Return the hosts, with the inventories that lack capacity. Two statements read them."""
        lacking = [(host.provider, host.resource_class) for host in self._hosts]
        uuids = {provider for provider, resource_class in lacking if provider and resource_class}
        stocks = read_inventories(conn, sorted(uuids)) if uuids else {}
        return [
            host._replace(stock=stocks.get(key))
            for host, key in zip(self._hosts, lacking, strict=True)
        ]


def _host(pool: Pool, rejections: Sequence[Rejection], uuid: str) -> UnservedHost:
    """Return the explanation of a host.

    Apart from the group, it does not depend on the order of the conditions in the request,
    because a query and a body rarely have the same order.
    """
    host = UnservedHost(uuid, rejections[0].code, rejections[0].group)
    at_code = [each.at_code or each.providers for each in rejections if each.providers]
    members = [pool.members[position] for position in sorted(set(chain(*at_code)))]
    if not members:
        return host
    terms = chain(*[each.cause.terms for each in rejections])
    amounts = [term.value for term in terms if isinstance(term.value, Amount)]
    if not amounts:
        return host._replace(provider=members[0].uuid)
    name, units = min(amounts)
    host = host._replace(resource_class=name, asked=units)
    stocked = [member for member in members if name in member.stocks]
    if not stocked:
        # No provider has an inventory, so there is no single responsible provider.
        return host
    # Other providers at the code may have enough of this class, and lack another one.
    allows = ALLOWS.get(host.code, fits)
    short = [member for member in stocked if not allows(member.stocks[name], units)] or stocked
    nearest = max(short, key=lambda member: _free(member, name))
    return host._replace(provider=nearest.uuid, room=_free(nearest, name))


def _free(member: Member, name: str) -> int:
    stock = member.stocks[name]
    return stock.capacity - stock.used
