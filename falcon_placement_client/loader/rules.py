"""Rules for a cloud file that a JSON schema cannot express."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from falcon_placement_client.inventory import InventoryRecord
from falcon_placement_client.loader.expansion import aggregate_uuid, canonical_uuid, counter_faults
from falcon_placement_client.yamlfile.document import Document
from falcon_placement_client.yamlfile.problems import Problem, Steps


def rule_problems(document: Document) -> Iterator[Problem]:
    """Yield violations of the rules in a document that conforms to the schema."""
    yield from _aggregate_problems(document)
    yield from _list_problems(document, document.value["providers"], ("providers",), ())
    for noun in ("resource_classes", "traits"):
        yield from _repeats(document, document.value.get(noun, []), (noun,))
    uuids = [consumer["uuid"].lower() for consumer in document.value.get("consumers", [])]
    for i in _repeated(uuids):
        yield document.problem(("consumers", i, "uuid"), "is also the UUID of an earlier consumer")
    for i, consumer in enumerate(document.value.get("consumers", [])):
        if "request" in consumer and not _describes(consumer["request"], consumer["allocations"]):
            text = "its amounts are not the sums of the allocations"
            yield document.problem(("consumers", i, "request"), text)


def _describes(request: Any, allocations: Any) -> bool:
    """Return whether a request has the same amounts as a consumer. Otherwise, it is not shown."""
    groups = request["groups"].values()
    requested = _sums(group.get("resources", {}) for group in groups)
    return requested == _sums(allocations.values())


def _sums(parts: Iterable[Mapping[str, float]]) -> Counter[str]:
    """Return class -> sum of the amounts of all parts."""
    sums: Counter[str] = Counter()
    for amounts in parts:
        for name, amount in amounts.items():
            sums[name] += int(amount)
    return sums


def _aggregate_problems(document: Document) -> Iterator[Problem]:
    names_by_uuid: dict[str, str] = {}
    for name, uuid in document.value.get("aggregates", {}).items():
        steps = ("aggregates", name)
        if canonical_uuid(name) is not None:
            yield document.problem(steps, "the name of an aggregate cannot be a UUID")
        first_name = names_by_uuid.setdefault(uuid.lower(), name)
        if first_name != name:
            yield document.problem(steps, f"{first_name} has this UUID already")


def _list_problems(
    document: Document, entries: Sequence[Any], steps: Steps, counters: tuple[str, ...]
) -> Iterator[Problem]:
    for i, entry in enumerate(entries):
        entry_steps = (*steps, i)
        inner_counters = counters
        if "count" in entry:
            inner_counters = (*counters, entry.get("index", "n"))
        yield from _counter_problems(document, entry, entry_steps, counters)
        if "parent" in entry:
            yield from _parent_problems(document, entry, entry_steps)
        yield from _entry_problems(document, entry, entry_steps, inner_counters)
        yield from _list_problems(
            document, entry.get("children", []), (*entry_steps, "children"), inner_counters
        )


def _counter_problems(
    document: Document, entry: Any, steps: Steps, outer_counters: tuple[str, ...]
) -> Iterator[Problem]:
    index = entry.get("index", "n")
    if "count" not in entry:
        if "index" in entry:
            yield document.problem((*steps, "index"), "index has no meaning without count")
    elif index in outer_counters:
        text = f"the counter {index} is taken by an entry above; name another with index"
        yield document.problem((*steps, "index" if "index" in entry else "count"), text)


def _parent_problems(document: Document, entry: Any, steps: Steps) -> Iterator[Problem]:
    parent_steps = (*steps, "parent")
    if len(steps) > len(("providers", 0)):
        text = "only an entry at the top has a parent; this one is below another entry"
        yield document.problem(parent_steps, text)
    if "count" in entry:
        yield document.problem(parent_steps, "an entry with count cannot have a parent")


def _entry_problems(
    document: Document, entry: Any, steps: Steps, counters: tuple[str, ...]
) -> Iterator[Problem]:
    """Yield the problems of an entry, given its own and the surrounding counters."""
    if counters and "uuid" in entry:
        yield document.problem((*steps, "uuid"), "an entry with count cannot have a uuid")
    yield from map(
        partial(document.problem, (*steps, "name")), counter_faults(entry["name"], counters)
    )
    for name, record in entry.get("inventories", {}).items():
        if isinstance(record, dict) and InventoryRecord(**record).capacity < 0:
            text = f"{record['reserved']} is more than the total of {record['total']}"
            yield document.problem((*steps, "inventories", name, "reserved"), text)
    yield from _repeats(document, entry.get("traits", []), (*steps, "traits"))
    uuids_by_name = document.value.get("aggregates", {})
    aggregates = [aggregate_uuid(name, uuids_by_name) for name in entry.get("aggregates", [])]
    yield from _repeats(document, aggregates, (*steps, "aggregates"))


def _repeats(document: Document, values: list[str], steps: Steps) -> Iterator[Problem]:
    for i in _repeated(values):
        yield document.problem((*steps, i), "is in the list already")


def _repeated(values: Sequence[str]) -> Iterator[int]:
    """Yield the indexes of repeated values."""
    seen: set[str] = set()
    for i, value in enumerate(values):
        if value in seen:
            yield i
        seen.add(value)
