"""The checker of histories finds each kind of fault, and accepts correct histories."""

from collections.abc import Mapping

import pytest

from tests.kit.history import ABSENT, GONE, NEVER, History, Operation, Shown

HOST, CONSUMER, OTHER = "host", "c", "d"


def claim(amount: int) -> frozenset[tuple[str, str, int]]:
    return frozenset({(HOST, "VCPU", amount)})


def write(
    version: float, value: object, began: float, ended: float, of: str = CONSUMER
) -> Operation:
    return Operation(f"consumer {of}", version, value, began, ended, writes=True)


def read(
    version: float, value: object, began: float, ended: float, of: str = CONSUMER
) -> Operation:
    return Operation(f"consumer {of}", version, value, began, ended)


def page(
    used: int, held: Mapping[str, tuple[int, int]], *, at: float = 5.0, changing: bool = False
) -> Shown:
    allocations = {
        consumer: (generation, frozenset({("VCPU", amount)}))
        for consumer, (generation, amount) in held.items()
    }
    return Shown(HOST, at, at + 1, {"VCPU": used}, allocations, changing)


FIRST, SECOND = write(1, claim(4), 0, 1), write(2, claim(6), 2, 3)

CORRECT = {
    "reads follow writes": [FIRST, read(1, claim(4), 1.5, 1.9), SECOND, read(2, claim(6), 4, 5)],
    "a concurrent read shows either value": [
        FIRST, SECOND, read(1, claim(4), 1.5, 2.5), read(2, claim(6), 2.1, 2.5),
    ],
    "a write without an answer is executed later": [
        FIRST, write(2, claim(6), 2, NEVER), read(1, claim(4), 4, 5), read(2, claim(6), 6, 7),
    ],
    "a write without an answer is not executed": [
        FIRST, write(2, claim(6), 2, NEVER), write(2, claim(5), 8, 9), read(2, claim(5), 10, 11),
    ],
    "absence before the first write and after the last": [
        read(0, ABSENT, 0, 0.1), write(1, claim(4), 0, 1), write(GONE, ABSENT, 2, 3),
        read(0, ABSENT, 4, 5),
    ],
    "versions of other writes between": [FIRST, read(1, claim(4), 4, 5), read(7, claim(4), 6, 7)],
    "a place is given to the next": [
        FIRST, write(GONE, ABSENT, 2, 3), write(1, claim(8), 2.5, 3, OTHER),
    ],
}  # fmt: skip

FAULTS = {
    "lost update": [FIRST, SECOND, write(2, claim(5), 2, 3)],
    "lost update: version 1": [FIRST, write(1, claim(5), 2, 3)],
    "lost update: version inf": [FIRST, write(GONE, ABSENT, 2, 3), write(GONE, ABSENT, 4, 5)],
    "stale": [FIRST, SECOND, read(1, claim(4), 4, 5)],
    "stale: version 1": [FIRST, SECOND, read(2, claim(6), 2, 2.4), read(1, claim(4), 2.5, 5)],
    "stale: version 2": [FIRST, SECOND, write(GONE, ABSENT, 4, 5), read(2, claim(6), 6, 7)],
    "wrong: version inf": [FIRST, read(0, ABSENT, 4, 5)],
    "wrong: version 2": [FIRST, SECOND, read(2, claim(4), 4, 5)],
    "wrong: version 1": [FIRST, write(2, claim(6), 2, NEVER), read(1, claim(6), 4, 5)],
    "phantom": [FIRST, read(1, claim(5), 4, 5)],
    "phantom: ": [FIRST, read(1, claim(4), 1.1, 1.2), read(2, claim(7), 4, 5)],
    "over-commit": [FIRST, write(1, claim(5), 0, 1, OTHER)],
}

SHOWN = {
    "": page(4, {CONSUMER: (1, 4)}),
    "nothing": page(6, {CONSUMER: (1, 4)}, changing=True),
    "mixed moments": page(6, {CONSUMER: (1, 4)}),
    "phantom": page(8, {CONSUMER: (1, 4), OTHER: (1, 4)}),
    "phantom: c at 2": page(4, {CONSUMER: (2, 4)}),
    "lost": page(0, {}),
    "over-commit": page(9, {CONSUMER: (1, 4)}),
}


def violations(history: History) -> list[str]:
    history.capacities[HOST, "VCPU"] = 8
    return list(history.violations())


@pytest.mark.parametrize("name", CORRECT)
def test_a_correct_history_is_accepted(name: str) -> None:
    assert not violations(History(CORRECT[name]))


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_found(fault: str) -> None:
    assert any(found.startswith(fault) for found in violations(History(FAULTS[fault])))


@pytest.mark.parametrize("fault", SHOWN)
def test_a_fault_in_a_list_is_found(fault: str) -> None:
    found = violations(History([FIRST], [SHOWN[fault]]))
    if fault in {"", "nothing"}:
        assert not found
    else:
        assert any(each.startswith(fault) for each in found)


def test_a_list_from_before_a_claim_or_after_its_end_may_lack_it() -> None:
    gone = write(GONE, ABSENT, 4, 7)
    shown = [page(0, {}, at=at) for at in (0.5, 5.0, 8.0)]
    assert not violations(History([FIRST, gone], shown))


def test_different_contents_of_one_tag_are_found() -> None:
    assert not violations(History(tagged=[("a", b"1"), ("a", b"1"), ("b", b"2")]))
    assert not violations(History(tagged=[("a", b'{"b":1,"c":2}'), ("a", b'{"c":2,"b":1}')]))
    assert violations(History(tagged=[("a", b"1"), ("a", b"2")]))
