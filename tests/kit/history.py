"""Histories of concurrent operations on registers, and the rules that they must satisfy.

A register is a consumer with its allocations, an inventory of a provider, or the aggregates of a
tree. A write states the generation that it replaces, so each version of a register has at most one
value. A history is therefore linearizable if the versions follow the order of time, and each read
returns the value of its version. Times are of one clock.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import orjson

NEVER = math.inf  # the end of a write without an answer, which may happen at any later time
GONE = math.inf  # the version of a deleted register, which is never created again
ABSENT = None  # the value before the first write and after the deletion
SAME = object()  # the value of a write that makes a version with the value of the one before


@dataclass(frozen=True)
class Operation:
    """A read or a write of a register. Refused writes are not recorded."""

    # Name of the register.
    register: str
    # The version that a read has returned, or that a write makes. 0 is the version before writes.
    version: float
    # The value of this version.
    value: Hashable
    # Time at which the request was sent.
    began: float
    # Time at which the answer was received. NEVER if it is unknown whether a write was executed.
    ended: float
    # Whether the operation is a write.
    writes: bool = False
    # The version that the request of a write states. None if it states none.
    replaces: float | None = None
    # Number of the request. Requests may read and write several registers.
    request: int = 0

    @property
    def is_known(self) -> bool:
        """Whether the operation was certainly executed."""
        return self.ended < NEVER


# (class, amount) pairs of the allocations from one provider.
Amounts = frozenset[tuple[str, int]]


@dataclass(frozen=True)
class Shown:
    """A provider in a response, with usages and allocations that must be of one moment."""

    # UUID of the provider.
    provider: str
    # Time at which the request was sent.
    began: float
    # Time at which the response was received.
    ended: float
    # Class -> used amount.
    usages: Mapping[str, int]
    # Consumer -> its generation and amounts.
    allocations: Mapping[str, tuple[int, Amounts]]
    # Whether the response states that the provider kept changing.
    changing: bool = False
    # Number of the request.
    request: int = 0


@dataclass
class History:
    """What clients have done and seen. Lists are appended by several threads."""

    # Reads and writes.
    operations: list[Operation] = field(default_factory=list)
    # Providers in responses.
    shown: list[Shown] = field(default_factory=list)
    # (entity tag, JSON text) pairs of responses.
    tagged: list[tuple[str, bytes]] = field(default_factory=list)
    # (provider, class) -> capacity.
    capacities: dict[tuple[str, str], int] = field(default_factory=dict)

    def registers(self) -> Mapping[str, Sequence[Operation]]:
        """Return the operations of each register."""
        registers: dict[str, list[Operation]] = defaultdict(list)
        for operation in self.operations:
            registers[operation.register].append(operation)
        return registers

    def claims(self) -> Mapping[str, Sequence[Operation]]:
        """Return the operations of each consumer. A consumer is the register `consumer UUID`.

        The value of a consumer is a frozenset of (provider, class, amount).
        """
        return {
            name.removeprefix("consumer "): operations
            for name, operations in self.registers().items()
            if name.startswith("consumer ")
        }

    def violations(self, *, current: bool = True) -> Iterator[str]:
        """Yield the violated rules.  current: whether reads must return the latest version."""
        for operations in self.registers().values():
            of_values = [each for each in operations if each.value is not SAME]
            yield from _Register(of_values).violations(current=current)
        claims = self.claims()
        held = list(_certainly_held(claims))
        yield from self._beyond_capacity(held)
        yield from self._wrongly_shown(claims, held if current else ())
        texts: dict[str, bytes] = {}
        for tag, text in self.tagged:
            first = texts.setdefault(tag, text)
            # Tags are weak: a server may send the members of an object in another order.
            if first != text and orjson.loads(first) != orjson.loads(text):
                yield f"two contents have the tag {tag}"

    def _beyond_capacity(self, held: Sequence[Holding]) -> Iterator[str]:
        """Compare the amounts that are certainly held at the same time with the capacity."""
        changes: list[tuple[float, int, tuple[str, str]]] = []
        for each in held:
            for provider, name, amount in each.value:
                changes.append((each.since, amount, (provider, name)))
                changes.append((each.until, -amount, (provider, name)))
        used: Counter[tuple[str, str]] = Counter()
        # Negative changes first, because an interval does not contain its end.
        for moment, amount, inventory in sorted(changes):
            used[inventory] += amount
            if used[inventory] > self.capacities.get(inventory, 0):
                yield f"over-commit: {used[inventory]} of {inventory} at {moment}"

    def _wrongly_shown(
        self, claims: Mapping[str, Sequence[Operation]], held: Sequence[Holding]
    ) -> Iterator[str]:
        written: dict[tuple[str, float], list[Operation]] = defaultdict(list)
        for consumer, operations in claims.items():
            for each in operations:
                if each.writes:
                    written[consumer, each.version].append(each)
        on_provider: dict[str, list[Holding]] = defaultdict(list)
        for holding in held:
            for provider in {provider for provider, *_ in holding.value}:
                on_provider[provider].append(holding)
        for shown in self.shown:
            for consumer, (generation, amounts) in shown.allocations.items():
                if not any(
                    amounts == amounts_on(shown.provider, write.value)
                    and write.began <= shown.ended
                    for write in written[consumer, generation]
                ):
                    yield f"phantom: {consumer} at {generation} with {amounts} was never written"
            for holding in on_provider[shown.provider]:
                covers = holding.since < shown.began and shown.ended < holding.until
                if covers and holding.consumer not in shown.allocations:
                    yield f"lost: {holding.consumer} is missing on {shown.provider}"
            yield from self._mixed(shown)

    def _mixed(self, shown: Shown) -> Iterator[str]:
        sums: Counter[str] = Counter()
        for _generation, amounts in shown.allocations.values():
            sums.update(dict(amounts))
        for name, used in shown.usages.items():
            if used != sums[name] and not shown.changing:
                yield f"mixed moments: {used} {name} used beside allocations of {sums[name]}"
            if used > self.capacities.get((shown.provider, name), math.inf):
                yield f"over-commit: {used} of {name} used on {shown.provider}"


def amounts_on(provider: str, value: Hashable) -> Amounts:
    """Return the part of a consumer's value on one provider."""
    assert isinstance(value, frozenset)
    return frozenset((name, amount) for uuid, name, amount in value if uuid == provider)


class _Register:
    """The operations of one register."""

    def __init__(self, operations: Sequence[Operation]) -> None:
        self._known = sorted(
            (each for each in operations if each.is_known), key=lambda each: each.ended
        )
        self._operations = sorted(operations, key=lambda each: each.began)
        writes = [each for each in operations if each.writes]
        self._unknown = [each for each in writes if not each.is_known]
        self._written = sorted(
            (each for each in writes if each.is_known), key=lambda each: each.version
        )
        self._versions = [each.version for each in self._written]

    def violations(self, *, current: bool) -> Iterator[str]:
        """Yield what is wrong with the register."""
        for version, number in Counter(self._versions).items():
            if number > 1:
                yield f"lost update: {number} writes made version {version} of {self._name}"
        if not current:
            for each in self._operations:
                # Absence is the version before the first write, or after the last.
                if not each.writes and each.value is not ABSENT:
                    yield from self._wrong_value(each, each.version)
            return
        latest, position = -1.0, 0
        for each in self._operations:
            while position < len(self._known) and self._known[position].ended < each.began:
                latest = max(latest, self._version(self._known[position], latest))
                position += 1
            version = self._version(each, latest)
            if version < latest:
                if each.is_known:
                    yield f"stale: version {version} of {self._name} after version {latest}"
            elif each.writes and version == latest and each.is_known:
                yield f"lost update: version {version} of {self._name} was written again"
            if not each.writes:
                yield from self._wrong_value(each, version)

    @property
    def _name(self) -> str:
        return self._operations[0].register

    def _version(self, operation: Operation, latest: float) -> float:
        """Return the version; absence is the version before the first write, or after the last."""
        if operation.value is ABSENT and latest > 0:
            return GONE
        return operation.version

    def _wrong_value(self, read: Operation, version: float) -> Iterator[str]:
        index = bisect_right(self._versions, version)
        base = self._written[index - 1] if index else None
        begun = 0.0 if base is None else base.version
        possible: list[Operation] = [] if base is None else [base]
        possible += [each for each in self._unknown if begun < each.version <= version]
        values = {each.value for each in possible if each.began <= read.ended}
        if base is None:
            values.add(ABSENT)
        if read.value in values:
            return
        written = {each.value for each in (*self._written, *self._unknown)}
        if read.value in written or read.value is ABSENT:
            yield f"wrong: version {version} of {self._name} is {read.value} instead of {values}"
        else:
            yield f"phantom: {read.value} was never written to {self._name}"


@dataclass(frozen=True)
class Holding:
    """An interval in which a consumer certainly had a value."""

    # UUID of the consumer.
    consumer: str
    # The value: (provider, class, amount) triples.
    value: frozenset[tuple[str, str, int]]
    # When the write had been acknowledged.
    since: float
    # When the next write of the consumer was sent. NEVER if there is none.
    until: float


def _certainly_held(claims: Mapping[str, Sequence[Operation]]) -> Iterator[Holding]:
    for consumer, operations in claims.items():
        writes = [each for each in operations if each.writes]
        for write in writes:
            if not write.is_known or write.value is ABSENT:
                continue
            assert isinstance(write.value, frozenset)
            until = min(
                (each.began for each in writes if each.version > write.version), default=NEVER
            )
            if write.ended < until:
                yield Holding(consumer, write.value, write.ended, until)
