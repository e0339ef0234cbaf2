"""Expand the entries of a cloud file to providers: counters in names, and derived UUIDs."""

import re
import uuid
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from falcon_placement_client.inventory import InventoryRecord
from falcon_placement_client.loader.cloud import CloudConsumer
from falcon_placement_client.loader.consumers import spread_group
from falcon_placement_client.provider_data import MAX_NAME, ProviderData
from falcon_placement_client.yamlfile.document import Document
from falcon_placement_client.yamlfile.problems import Problem, Steps, shown

MAX_PROVIDERS = 200_000
# Matches a doubled brace, which represents a literal brace, or a counter.
_COUNTER = re.compile(r"\{\{|\}\}|\{([a-z][a-z0-9_]*)(?::(0[1-9])d?)?\}")


class Expansion:
    """The entries that have been expanded so far."""

    def __init__(self, document: Document) -> None:
        # Providers of all expanded entries, with parents before their children.
        self.providers: list[ProviderData] = []
        # UUID of a provider -> line of its entry.
        self.lines: dict[str, int] = {}
        # Consumers of all expanded entries.
        self.consumers: list[CloudConsumer] = []
        # Aggregate uuid -> name.
        self.aggregate_names: dict[str, str] = {}
        # Faults of names that were found so far.
        self.problems: list[Problem] = []
        self._document = document
        # Name of an aggregate -> its UUID.
        self._uuids_by_name: Mapping[str, str] = document.value.get("aggregates", {})
        # Name of a provider -> its UUID.
        self._uuids_by_provider: dict[str, str] = {}

    def add_all(self) -> None:
        """Add all providers and consumers of the document."""
        self.add_entries(self._document.value["providers"], ("providers",), None, {})
        for i, entry in enumerate(self._document.value.get("consumers", [])):
            self._add_consumer(entry, ("consumers", i))

    def custom_names(self, key: str) -> dict[str, int]:
        """Return name -> line of a top-level list of the document."""
        names = self._document.value.get(key, [])
        return {name: self._document.line((key, i)) for i, name in enumerate(names)}

    def add_entries(
        self,
        entries: Sequence[Any],
        steps: Steps,
        parent_uuid: str | None,
        numbers: Mapping[str, int],
    ) -> None:
        """Add the providers of entries, each followed by its children. `numbers`: counter values.

        `numbers` has the values of the surrounding counters.
        """
        for i, entry in enumerate(entries):
            for number in range(1, int(entry.get("count", 1)) + 1):
                if len(self.providers) >= MAX_PROVIDERS:
                    self._report((*steps, i), f"the file has over {MAX_PROVIDERS} providers")
                    return
                inner_numbers = {**numbers, entry.get("index", "n"): number}
                self._add(
                    entry, (*steps, i), parent_uuid, inner_numbers if "count" in entry else numbers
                )

    def _add(
        self, entry: Any, steps: Steps, parent_uuid: str | None, numbers: Mapping[str, int]
    ) -> None:
        name = expand_counters(entry["name"], numbers)
        uuid = entry["uuid"].lower() if "uuid" in entry else provider_uuid(name)
        if "parent" in entry:
            parent_uuid = self._provider(entry["parent"], (*steps, "parent"))
        self._check_unique(name, uuid, steps)
        self._uuids_by_provider[name] = uuid
        self.lines[uuid] = self._document.line(steps)
        self.providers.append(
            ProviderData(
                name=name,
                uuid=uuid,
                parent_uuid=parent_uuid,
                inventory=_inventories(entry.get("inventories", {})),
                traits=frozenset(entry.get("traits", [])),
                aggregates=frozenset(map(self._aggregate, entry.get("aggregates", []))),
            )
        )
        self.add_entries(entry.get("children", []), (*steps, "children"), uuid, numbers)

    def _add_consumer(self, entry: Any, steps: Steps) -> None:
        allocations: dict[str, Mapping[str, int]] = {}
        for name, amounts in entry["allocations"].items():
            uuid = self._provider(name, (*steps, "allocations", name))
            # The schema accepts 8.0 as an integer.
            allocations[uuid] = {key: int(amount) for key, amount in amounts.items()}
        self.consumers.append(
            CloudConsumer(
                uuid=entry["uuid"].lower(),
                project=entry["project"],
                user=entry["user"],
                type=entry.get("type"),
                allocations=allocations,
                line=self._document.line(steps),
                spread_group=spread_group(entry),
                request=entry.get("request"),
            )
        )

    def _aggregate(self, name: str) -> str:
        """Return the UUID of an aggregate. The file contains its UUID or its name."""
        uuid = aggregate_uuid(name, self._uuids_by_name)
        if canonical_uuid(name) is None:
            self.aggregate_names[uuid] = name
        return uuid

    def _provider(self, written_name: str, steps: Steps) -> str:
        """Return the UUID of a provider by its name.

        If the name is unknown, report this and return "".
        """
        faults = list(counter_faults(written_name, ()))
        name = written_name if faults else expand_counters(written_name, {})
        uuid = self._uuids_by_provider.get(name, "")
        if not uuid and not faults:
            faults = [f"no provider above has the name {shown(name)}"]
        for fault in faults:
            self._report(steps, fault)
        return uuid

    def _check_unique(self, name: str, uuid: str, steps: Steps) -> None:
        if len(name) > MAX_NAME:
            self._report((*steps, "name"), f"{shown(name)} is longer than {MAX_NAME} characters")
        if name in self._uuids_by_provider:
            line = self.lines[self._uuids_by_provider[name]]
            text = f"{shown(name)} is also the name of the entry in line {line}"
            self._report((*steps, "name"), text)
        elif uuid in self.lines:
            text = f"is also the UUID of the entry in line {self.lines[uuid]}"
            self._report((*steps, "uuid"), text)

    def _report(self, steps: Steps, text: str) -> None:
        self.problems.append(self._document.problem(steps, text))


def _inventories(records: Mapping[str, Any]) -> Mapping[str, InventoryRecord]:
    return MappingProxyType(
        {resource_class: _inventory(record) for resource_class, record in records.items()}
    )


def _inventory(record: Any) -> InventoryRecord:
    if not isinstance(record, dict):
        record = {"total": record}
    # The schema accepts 8.0 as an integer.
    amounts = {name: int(amount) for name, amount in record.items() if name != "allocation_ratio"}
    return InventoryRecord(**amounts, allocation_ratio=float(record.get("allocation_ratio", 1.0)))


def expand_counters(name: str, numbers: Mapping[str, int]) -> str:
    """Return a name in which counters are replaced with numbers, and doubled braces with braces."""
    return _COUNTER.sub(
        lambda match: format(numbers[match[1]], match[2] or "") if match[1] else match[0][0], name
    )


def escape_braces(name: str) -> str:
    """Return a name with doubled braces, as in a file."""
    return name.replace("{", "{{").replace("}", "}}")


def counter_faults(name: str, counters: tuple[str, ...]) -> Iterator[str]:
    """Yield the faults of the counters in a name, given the counters of the surrounding entries."""
    named = [match[1] for match in _COUNTER.finditer(name) if match[1]]
    for counter in dict.fromkeys(counters):
        if counter not in named:
            yield f"{shown(name)} must contain the counter {{{counter}}}"
    for counter in dict.fromkeys(named):
        if counter not in counters:
            yield f"{{{counter}}} is not the counter of a surrounding entry"
    if re.search(r"[{}]", _COUNTER.sub("", name)):
        yield f"{shown(name)}: braces hold a counter, such as {{n}} or {{n:02}}"


def provider_uuid(name: str) -> str:
    """Return the UUID of a provider for which the file contains no UUID."""
    return _uuid_of("provider", name)


def aggregate_uuid(name: str, uuids_by_name: Mapping[str, str]) -> str:
    """Return the UUID of an aggregate. The file contains its UUID or its name."""
    canonical = canonical_uuid(name)
    if canonical is not None:
        return canonical
    listed = uuids_by_name.get(name)
    return listed.lower() if listed else _uuid_of("aggregate", name)


def canonical_uuid(text: str) -> str | None:
    """Return the canonical form of a UUID in any spelling that the API accepts, or None."""
    try:
        return str(uuid.UUID(text))
    except ValueError:
        return None


def _uuid_of(kind: str, name: str) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_URL, f"urn:placement:{kind}:{name}"))
