"""Single hosts: those that the text mentions apart, and those of the response."""

from collections import Counter
from collections.abc import Collection, Sequence
from itertools import chain
from typing import NamedTuple

from sqlalchemy.engine import Connection

from placement.candidates.model import Member, Pool
from placement.candidates.request import CandidateRequest
from placement.candidates.stated_terms import StatedTerm
from placement.candidates.terms import STOCK_CONDITIONS, InTree, of_kind
from placement.candidates.terms.amounts import Amount, has_near
from placement.candidates.trace import Refusal
from placement.candidates.trees.inventories import read_inventories
from placement.foresight.explanation.causes import Rejection
from placement.foresight.explanation.explained_plan import ExplainedPlan
from placement.foresight.explanation.rejected_hosts import RejectedHosts, Tally
from placement.foresight.explanation.value import UnservedHost
from placement.foresight.explanation.words.phrases import are
from placement.foresight.explanation.words.sentences import Words
from placement.inventory import fits

# Maximum number of mentioned hosts with a provider in a tree that the request names.
MAX_NAMED = 3
# Maximum number of hosts in a response.
MAX_HOSTS = 100

# Code -> the condition on an inventory. If a near amount is free, the capacity is not the reason.
ALLOWS = {**dict(STOCK_CONDITIONS), Refusal.CAPACITY: has_near}


class _NamedHost(NamedTuple):
    """A host in a tree that the request names, and the reason why it is not served."""

    # UUID of the host.
    uuid: str
    # The code at which it is rejected.
    code: Refusal
    # The causes for this host alone.
    rejected: RejectedHosts
    # The terms that name its tree.
    own: Collection[StatedTerm]
    # Whether it also has a taint, which the causes do not state.
    tainted: bool


class NamedHosts:
    """Rejected hosts that the text mentions apart from other hosts."""

    def __init__(self, plan: ExplainedPlan) -> None:
        # The terms that name a tree or subtree.
        self._places = plan.places
        # Terms for trees and aggregates -> number of hosts that have no provider in them.
        self._outside: Counter[tuple[StatedTerm, ...]] = Counter()
        # The hosts in the trees that the request names.
        self._named: list[_NamedHost] = []

    def add(self, pool: Pool, tally: Tally) -> None:
        """Count a rejected host of a tally if the text mentions it apart."""
        own: list[StatedTerm] = []
        if self._places and pool.anchor is not None:
            own = [stated for stated, t in self._places.items() if t.positions(pool.anchor)]
        if own and len(self._named) < MAX_NAMED:
            rejected = RejectedHosts.of_host(tally.fit, pool)
            tainted = tally.fit.is_tainted and bool(tally.fit.instead)
            code = tally.stated[0].code
            self._named.append(_NamedHost(pool.root, code, rejected, own, tainted))
        elif tally.fit.outside:
            self._outside[tally.fit.outside] += 1
        else:
            return
        tally.mentioned_apart += 1

    @property
    def uuids(self) -> Collection[str]:
        """The UUIDs of the providers whose names the text contains."""
        uuids = {host.uuid for host in self._named}
        uuids.update(term.stored for term in self._places.values())
        return uuids.union(*(host.rejected.uuids for host in self._named))

    @property
    def are_named(self) -> bool:
        """Whether the text names any hosts."""
        return bool(self._named)

    def clauses(self, words: Words, *, others: bool) -> Sequence[str]:
        """Return the clauses of the text about these hosts.

        Args:
            words: The words of the request.
            others: Whether the text mentions other hosts as well.
        """
        clauses = []
        for host in self._named:
            (cause_hosts,) = host.rejected.by_causes()
            predicate = words.predicate(host.code, cause_hosts, host.own)
            tainted = ", and is tainted" * host.tainted
            clauses.append(f"host {words.facts.label(host.uuid)} {predicate}{tainted}")
        outside: Counter[str] = Counter()
        for terms, hosts in self._outside.items():
            place = self._named_trees() if self._in_places(terms) else ""
            outside[place or words.scopes(terms)] += hosts
        for where, hosts in outside.most_common():
            subject = f"{hosts:,}"
            if self._named and len(clauses) == len(self._named):
                is_last = len(outside) == 1 and not others
                subject = (
                    f"the other {hosts:,}" if is_last else f"{hosts:,} other{'s' * (hosts > 1)}"
                )
            clauses.append(f"{subject} {are(hosts)} not in {where}")
        return clauses

    def _in_places(self, terms: Collection[StatedTerm]) -> bool:
        return not self._places.keys().isdisjoint(terms)

    def _named_trees(self) -> str:
        """Return the trees of the hosts that the text names, or an empty text if there are none."""
        if not self._named:
            return ""
        return "its tree" if len(self._named) == 1 else "these trees"


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
