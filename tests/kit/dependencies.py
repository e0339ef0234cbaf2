"""The requests of a history as transactions, whose dependencies must have no cycle."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence

from tests.kit.cycles import Transaction
from tests.kit.history import ABSENT, SAME, History, Operation, Shown, amounts_on

UNWRITTEN = 0.0  # the version of a consumer before its first write


def transactions(history: History) -> list[Transaction]:
    """Return the requests that were executed, with the versions that are known from the history.

    A request is omitted if it is unknown whether it was executed. A version of a provider is
    unknown if a claim has made it, because the response does not contain it. The absence of a
    consumer is a known version only if the consumer had not yet been deleted.

    The version and the value of a register are separate registers of a transaction, because a
    response may combine the version of one moment with the value of another.
    """
    claims = history.claims()
    read: dict[int, dict[str, float]] = defaultdict(dict)
    times: dict[int, Operation | Shown] = {}
    for shown in history.shown:
        if not shown.changing:
            times[shown.request] = shown
            read[shown.request].update(_shown_versions(shown, claims))
    written: dict[int, dict[str, float]] = defaultdict(dict)
    executed = _executed(history)
    makers = _makers(history)
    for each in history.operations:
        if each.writes and not (each.is_known or each.request in executed):
            continue
        times[each.request] = each
        if (each.register, each.value) in makers:
            versions = (written if each.writes else read)[each.request]
            versions[f"value of {each.register}"] = makers[each.register, each.value]
        if each.writes:
            written[each.request][each.register] = each.version
            if each.replaces is not None:
                read[each.request][each.register] = each.replaces
        elif each.value is not ABSENT:
            read[each.request][each.register] = each.version
        elif _is_unwritten(claims[each.register.removeprefix("consumer ")], each.ended):
            read[each.request][each.register] = UNWRITTEN
    return [
        Transaction(f"T{request}", read[request], written[request], each.began, each.ended)
        for request, each in times.items()
    ]


def _makers(history: History) -> Mapping[tuple[str, Hashable], float]:
    """Return (register, value) -> version, for each value that only one write has made."""
    versions: dict[tuple[str, Hashable], list[float]] = defaultdict(list)
    for each in history.operations:
        if each.writes and each.value not in {ABSENT, SAME}:
            versions[each.register, each.value].append(each.version)
    return {key: made[0] for key, made in versions.items() if len(made) == 1}


def _executed(history: History) -> set[int]:
    """Return requests without an answer that made a version which was read, as no other did."""
    made = Counter((each.register, each.version) for each in history.operations if each.writes)
    read = {
        (each.register, each.version, each.value)
        for each in history.operations
        if not each.writes and each.value is not ABSENT
    }
    return {
        each.request
        for each in history.operations
        if each.writes
        and made[each.register, each.version] == 1
        and (each.register, each.version, each.value) in read
    }


def _shown_versions(
    shown: Shown, claims: Mapping[str, Sequence[Operation]]
) -> Iterator[tuple[str, float]]:
    for consumer, (generation, _amounts) in shown.allocations.items():
        yield f"consumer {consumer}", generation
    for consumer in claims.keys() - shown.allocations.keys():
        if _is_unwritten(claims[consumer], shown.ended, shown.provider):
            yield f"consumer {consumer}", UNWRITTEN


def _is_unwritten(
    operations: Sequence[Operation], ended: float, provider: str | None = None
) -> bool:
    """Return whether a consumer can only be absent because it had not yet been written.

    Args:
        operations: all operations on the consumer.
        ended: the end of the read.
        provider: the provider without allocations of the consumer, or None for all providers.
    """
    begun = [each for each in operations if each.writes and each.began <= ended]
    return bool(begun) and all(
        each.value is not ABSENT and (provider is None or amounts_on(provider, each.value))
        for each in begun
    )
