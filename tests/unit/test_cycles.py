"""The checker of dependencies names each kind of cycle, and accepts serial histories."""

import random
from collections.abc import Mapping, Sequence

import pytest

from tests.kit.cycles import Transaction, anomalies
from tests.kit.dependencies import transactions
from tests.kit.history import ABSENT, GONE, NEVER, SAME, History, Operation, Shown

Versions = Mapping[str, float]


def at_once(*requests: tuple[Versions, Versions]) -> list[Transaction]:
    """Return concurrent transactions that read and write these versions."""
    return [
        Transaction(f"T{number}", reads, writes, 0, 1)
        for number, (reads, writes) in enumerate(requests)
    ]


def in_turn(*requests: tuple[Versions, Versions]) -> list[Transaction]:
    """Return transactions of which each begins after the end of the one before."""
    return [
        Transaction(f"T{number}", reads, writes, 2 * number, 2 * number + 1)
        for number, (reads, writes) in enumerate(requests)
    ]


# Name -> transactions with such a cycle, and with none that has a stronger name.
CYCLES: Mapping[str, Sequence[Transaction]] = {
    # Two writes are interleaved.
    "G0": at_once(({}, {"x": 1, "y": 2}), ({}, {"x": 2, "y": 1})),
    # Each of two transactions has read what the other has written.
    "G1c": at_once(({"y": 1}, {"x": 1}), ({"x": 1}, {"y": 1})),
    # A read of two registers has seen half of a write.
    "G-single": at_once(({}, {"x": 1, "y": 1}), ({"x": 1, "y": 0}, {})),
    # Each of two transactions has read what the other has replaced (write skew).
    "G2-item": at_once(({"x": 0, "y": 0}, {"x": 1}), ({"x": 0, "y": 0}, {"y": 1})),
    # An earlier write has replaced a later one.
    "G0-realtime": in_turn(({}, {"x": 2}), ({}, {"x": 1})),
    # A read has seen a later write.
    "G1c-realtime": in_turn(({"x": 1}, {}), ({}, {"x": 1})),
    # A read has missed an earlier write.
    "G-single-realtime": in_turn(({}, {"x": 1}), ({"x": 0}, {})),
    # One of two readers has seen x first, and the other one y (long fork), both after the writes.
    "G2-item-realtime": [
        Transaction("write x", {}, {"x": 1}, 0, 1),
        Transaction("write y", {}, {"y": 1}, 0, 9),
        Transaction("x only", {"x": 1, "y": 0}, {}, 2, 3),
        Transaction("y only", {"y": 1, "z": 0}, {}, 0, 9),
        Transaction("write z", {}, {"z": 1}, 0, 1.5),
    ],
}


def names(history: Sequence[Transaction], *, real_time: bool) -> list[str]:
    return [each.partition(":")[0] for each in anomalies(history, real_time=real_time)]


@pytest.mark.parametrize("name", CYCLES)
def test_each_cycle_is_named(name: str) -> None:
    assert names(CYCLES[name], real_time=True) == [name]
    ignored = name.endswith("-realtime")
    assert names(CYCLES[name], real_time=False) == ([] if ignored else [name])


def serial_history(source: random.Random, length: int) -> list[Transaction]:
    """Return transactions that were executed one after another, in a time around this moment."""
    versions: dict[str, float] = {}
    history = []
    for number in range(length):
        registers = source.sample("abcdef", source.randint(1, 4))
        reads = {name: versions.get(name, 0.0) for name in registers[:2]}
        for name in registers[1:]:
            versions[name] = versions.get(name, 0.0) + 1
        writes = {name: versions[name] for name in registers[1:]}
        began, ended = number - source.random() * 5, number + source.random() * 5
        history.append(Transaction(f"T{number}", reads, writes, began, ended))
    source.shuffle(history)
    return history


def test_serial_histories_have_no_cycle_and_a_change_of_a_version_makes_one() -> None:
    for seed in range(50):
        source = random.Random(seed)
        history = serial_history(source, 60)
        assert names(history, real_time=True) == []
        # A transaction reads a version together with the version before.
        writer = next(each for each in history if len(each.writes) > 1)
        first, second = list(writer.writes)[:2]
        mixed = {first: writer.writes[first], second: writer.writes[second] - 1}
        history.append(Transaction("mixed", mixed, {}, -10, 100))
        assert set(names(history, real_time=True)) & {"G-single"}
        assert set(names(history, real_time=False)) & {"G-single"}


# -- histories of clients --------------------------------------------------------------------

HOST = "host"


def value(amount: int) -> frozenset[tuple[str, str, int]]:
    return frozenset({(HOST, "VCPU", amount)})


def write(
    request: int, consumer: str, version: float, made: object, *, ended: float = 1.0
) -> Operation:
    replaces = None if version == GONE else version - 1
    return Operation(f"consumer {consumer}", version, made, 0, ended, True, replaces, request)


def page(request: int, held: Mapping[str, tuple[int, int]], ended: float = 1.0) -> Shown:
    allocations = {
        consumer: (generation, frozenset({("VCPU", amount)}))
        for consumer, (generation, amount) in held.items()
    }
    return Shown(HOST, 0, ended, {}, allocations, request=request)


CREATED = [write(1, "c", 1, value(1)), write(2, "d", 1, value(2))]
SWAPPED = [write(3, "c", 2, value(2)), write(3, "d", 2, value(1))]

HISTORIES: Mapping[str, tuple[str, History]] = {
    "a page before and a page after a write": (
        "",
        History(
            [*CREATED, *SWAPPED],
            [page(4, {"c": (1, 1), "d": (1, 2)}), page(5, {"c": (2, 2), "d": (2, 1)})],
        ),
    ),
    "half of a write": (
        "G-single",
        History([*CREATED, *SWAPPED], [page(4, {"c": (2, 2), "d": (1, 2)})]),
    ),
    "half of a write without an answer": (
        "G-single",
        History(
            [*CREATED, write(3, "c", 2, value(2), ended=NEVER),
             write(3, "d", 2, value(1), ended=NEVER),
             Operation("consumer c", 2, value(2), 0, 1, request=5)],
            [page(4, {"c": (2, 2), "d": (1, 2)})],
        ),
    ),
    "a write without an answer that was never seen": (
        "",
        History(
            [*CREATED, write(3, "c", 2, value(2), ended=NEVER)],
            [page(4, {"c": (1, 1), "d": (1, 2)})],
        ),
    ),
    "two claims in different orders": (
        "G2-item", History(CREATED, [page(3, {"c": (1, 1)}), page(4, {"d": (1, 2)})])
    ),
    "a claim that may have been deleted again": (
        "",
        History(
            [*CREATED, write(5, "c", GONE, ABSENT)],
            [page(3, {"c": (1, 1)}), page(4, {"d": (1, 2)})],
        ),
    ),
    "two claims in different orders, as consumers show them": (
        "G2-item",
        History(
            [*CREATED,
             Operation("inventory host", 1, SAME, 0, 1, writes=True, request=6),
             Operation("consumer c", 0, ABSENT, 0, 1, request=3),
             Operation("inventory host", 1, 0, 0, 1, request=3),
             Operation("inventory host", 0, 0, 0, 1, request=4)],
            [page(4, {"c": (1, 1)})],
        ),
    ),
    "a version with the value of the next": (
        "G-single",
        History(
            [Operation("inventory host", 1, 7, 0, 1, writes=True, replaces=0, request=1),
             Operation("inventory host", 2, 8, 0, 1, writes=True, replaces=1, request=2),
             Operation("inventory host", 1, 8, 0, 1, request=3)],
        ),
    ),
    "two writes of one version": (
        "G-single", History([*CREATED, write(3, "c", 2, value(2)), write(4, "c", 2, value(3))])
    ),
    "a page of several moments, which says so": (
        "",
        History(
            [*CREATED, *SWAPPED],
            [Shown(HOST, 0, 1, {}, {"c": (2, frozenset()), "d": (1, frozenset())}, True, 4)],
        ),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", HISTORIES)
def test_requests_of_clients_become_transactions(case: str) -> None:
    name, history = HISTORIES[case]
    assert names(transactions(history), real_time=True) == ([name] if name else [])
