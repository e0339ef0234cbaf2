"""Cycles of dependencies between transactions, named as by Adya (Weak Consistency, 1999).

A history is serializable if the dependencies of its transactions have no cycle. The order of the
versions of each register is known, so all dependencies on known versions are. If a version is
missing between two known versions, the transactions of these depend on each other through the
missing one, which results in the same kinds of edges.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

Node = int


class Kind(StrEnum):
    """The reason for which a transaction must follow another one."""

    WW = "ww"  # it has replaced a version of the other
    WR = "wr"  # it has read a version of the other
    RW = "rw"  # it has replaced a version that the other has read
    RT = "rt"  # it began after the other had ended


@dataclass(frozen=True)
class Transaction:
    """A committed request, with one version of each register that it has read or written."""

    # Description for messages.
    name: str
    # Register -> the version that was read.
    reads: Mapping[str, float]
    # Register -> the version that was made.
    writes: Mapping[str, float]
    # Time at which the request was sent.
    began: float
    # Time at which the response was received, or infinity if there was none.
    ended: float


@dataclass(frozen=True)
class Edge:
    """A dependency."""

    kind: Kind
    # The register, or "" for times.
    register: str
    # The transaction that follows.
    target: Node


@dataclass(frozen=True)
class Anomaly:
    """The shape of a cycle: an edge, and the kinds of the other edges."""

    name: str
    first: Kind
    others: frozenset[Kind]


_WRITTEN = frozenset({Kind.WW})
_READ = _WRITTEN | {Kind.WR}
_ANY = _READ | {Kind.RW}
# The strongest names first. A cycle that needs an order in time contradicts strict serializability
# only.
ANOMALIES: Sequence[Anomaly] = tuple(
    Anomaly(name + suffix, first, others | times)
    for suffix, times in (("", frozenset[Kind]()), ("-realtime", frozenset({Kind.RT})))
    for name, first, others in (
        ("G0", Kind.WW, _WRITTEN),
        ("G1c", Kind.WR, _READ),
        ("G-single", Kind.RW, _READ),
        ("G2-item", Kind.RW, _ANY),
    )
)

Graph = Mapping[Node, Sequence[Edge]]


def anomalies(transactions: Sequence[Transaction], *, real_time: bool) -> Iterator[str]:
    """Yield the worst cycle of each set of transactions that have no serial order.

    Args:
        transactions: a history.
        real_time: whether a transaction that began after the end of another one must follow it
            (strict serializability).
    """
    graph = _dependencies(transactions)
    if real_time:
        _add_times(graph, transactions)
    for component in components(graph):
        name, cycle = _worst_cycle(graph, component)
        steps = [f"{transactions[cycle[-1].target].name}"]
        for edge in cycle:
            if edge.target < len(transactions):  # not a moment
                label = f"{edge.kind} {edge.register}".strip()
                steps.append(f"-[{label}]-> {transactions[edge.target].name}")
        yield f"{name}: {' '.join(steps)}"


def number_of_dependencies(transactions: Sequence[Transaction]) -> int:
    """Return the number of dependencies, except for those by time."""
    return sum(map(len, _dependencies(transactions).values()))


def _dependencies(transactions: Sequence[Transaction]) -> dict[Node, list[Edge]]:
    written: dict[str, list[tuple[float, Node]]] = defaultdict(list)
    for node, transaction in enumerate(transactions):
        for register, version in transaction.writes.items():
            written[register].append((version, node))
    graph: dict[Node, list[Edge]] = defaultdict(list)
    for register, writers in written.items():
        writers.sort()
        for (_, node), (_, follower) in pairwise(writers):
            graph[node].append(Edge(Kind.WW, register, follower))
    for node, transaction in enumerate(transactions):
        for register, version in transaction.reads.items():
            writers = written[register]
            position = bisect_right(writers, version, key=lambda writer: writer[0])
            if position and writers[position - 1][1] != node:
                graph[writers[position - 1][1]].append(Edge(Kind.WR, register, node))
            if position < len(writers) and writers[position][1] != node:
                graph[node].append(Edge(Kind.RW, register, writers[position][1]))
    return graph


def _add_times(graph: dict[Node, list[Edge]], transactions: Sequence[Transaction]) -> None:
    """Add a node for each moment at which a transaction has ended.

    The moments are a chain, so the graph has a linear number of edges.
    """
    ends = sorted({transaction.ended for transaction in transactions})
    base = len(transactions)
    for number in range(1, len(ends)):
        graph[base + number - 1].append(Edge(Kind.RT, "", base + number))
    for node, transaction in enumerate(transactions):
        graph[node].append(Edge(Kind.RT, "", base + bisect_left(ends, transaction.ended)))
        earlier = bisect_left(ends, transaction.began)
        if earlier:
            graph[base + earlier - 1].append(Edge(Kind.RT, "", node))


def components(graph: Graph) -> Iterator[set[Node]]:
    """Yield the strongly connected components that contain a cycle (Tarjan, without recursion)."""
    order: dict[Node, int] = {}  # the order in which nodes are visited
    lowest: dict[Node, int] = {}  # the first node that can be reached, by its order
    stack: list[Node] = []
    is_open: set[Node] = set()
    for start in list(graph):
        path = [] if start in order else [(start, iter(graph.get(start, ())))]
        while path:
            node, edges = path[-1]
            if node not in order:
                order[node] = lowest[node] = len(order)
                stack.append(node)
                is_open.add(node)
            for edge in edges:
                if edge.target not in order:
                    path.append((edge.target, iter(graph.get(edge.target, ()))))
                    break
                if edge.target in is_open:
                    lowest[node] = min(lowest[node], order[edge.target])
            else:
                path.pop()
                if path:
                    parent = path[-1][0]
                    lowest[parent] = min(lowest[parent], lowest[node])
                if lowest[node] == order[node]:
                    component = {node}
                    while (member := stack.pop()) != node:
                        component.add(member)
                    is_open -= component
                    if len(component) > 1:
                        yield component


def _worst_cycle(graph: Graph, component: set[Node]) -> tuple[str, Sequence[Edge]]:
    for anomaly in ANOMALIES:
        for node in sorted(component):
            for edge in graph.get(node, ()):
                if edge.kind is anomaly.first and edge.target in component:
                    back = _path(graph, edge.target, node, anomaly.others)
                    if back is not None:
                        return anomaly.name, [edge, *back]
    raise AssertionError("times alone have no cycle")


def _path(graph: Graph, start: Node, end: Node, kinds: frozenset[Kind]) -> Sequence[Edge] | None:
    """Return the shortest path of edges of these kinds, or None."""
    paths: dict[Node, tuple[Edge, ...]] = {start: ()}
    ahead = deque([start])
    while ahead and end not in paths:
        node = ahead.popleft()
        for edge in graph.get(node, ()):
            if edge.kind in kinds and edge.target not in paths:
                paths[edge.target] = (*paths[node], edge)
                ahead.append(edge.target)
    return paths.get(end)
