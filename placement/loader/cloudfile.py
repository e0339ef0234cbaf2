"""The cloud file: trees of resource providers described in YAML.

A file is one mapping with two keys::

    aggregates:                       # optional: name -> UUID
      rack-a: 5ac00000-0000-4000-8000-00000000000a
    providers:                        # the roots, in the order in which they are made
    - name: compute-1

A provider has these keys; only ``name`` is required:

``name``
    Text of 1 to 200 characters, unique in the file. Braces are kept for counters.
``uuid``
    By default made from the name, so that loading a file again finds the same providers:
    ``uuid5(NAMESPACE_URL, "urn:placement:provider:" + name)``.
``count``, ``index``
    The entry, with everything below it, stands for ``count`` providers, numbered from 1.
    ``index`` names the counter and is ``n`` when left out; an entry below another one that
    counts needs a counter of its own. The name, and every name below, must contain each
    counter around it: ``{n}``, or ``{n:03}`` for 001, 002 and so on. Neither the entry nor
    one below it can have ``uuid``.
``inventories``
    Resource class -> ``total``, or a mapping of ``total`` (required), ``reserved`` (0),
    ``allocation_ratio`` (1.0), ``min_unit`` (1), ``max_unit`` (2147483647) and
    ``step_size`` (1). ``VCPU: 8`` is short for ``VCPU: {total: 8}``.
``traits``
    List of trait names.
``aggregates``
    List of aggregates, by name or by UUID. A name not listed at the top has the UUID
    ``uuid5(NAMESPACE_URL, "urn:placement:aggregate:" + name)``.
``children``
    List of providers below this one.

Classes and traits that begin with ``CUSTOM_`` are made on the server as needed; the others
have to be known to it. What is left out is empty: a provider without ``traits`` has none,
and loading the file takes away those that it has on the server. Providers that the file
does not name are left alone.

The anchors, aliases and merge keys (``<<``) of YAML work. A key given twice is an error.
"""

import os
import re
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Any

from placement.loader.document import CloudFileError, Document, Problem, Steps, read
from placement.loader.schema import (
    MAX_PROVIDERS,
    UUID_PATTERN,
    schema_problems,
    shown,
)
from placement.vocabulary import MAX_INTEGER

_COUNTER = re.compile(r"\{([a-z][a-z0-9_]*)(?::(0[1-9])d?)?\}")


@dataclass(frozen=True, slots=True)
class Inventory:
    """How much of one resource class a provider has, and in which units it is given."""

    total: int
    reserved: int = 0
    min_unit: int = 1
    max_unit: int = MAX_INTEGER
    step_size: int = 1
    allocation_ratio: float = 1.0


@dataclass(frozen=True, slots=True)
class Provider:
    """One provider as the file wants it; ``line`` is where its entry begins."""

    name: str
    uuid: str
    parent_uuid: str | None
    inventories: Mapping[str, Inventory]
    traits: frozenset[str]
    aggregates: frozenset[str]
    line: int


@dataclass(frozen=True, slots=True)
class Cloud:
    """All providers of a file, every parent before its children."""

    source: str
    providers: tuple[Provider, ...]

    def resource_classes(self) -> dict[str, Provider]:
        """Return each resource class in use with the first provider that has it."""
        return self._first_users("inventories")

    def traits(self) -> dict[str, Provider]:
        """Return each trait in use with the first provider that has it."""
        return self._first_users("traits")

    def _first_users(self, field: str) -> dict[str, Provider]:
        users: dict[str, Provider] = {}
        for provider in self.providers:
            for name in sorted(getattr(provider, field)):
                users.setdefault(name, provider)
        return users


def load_file(path: str | os.PathLike[str]) -> Cloud:
    """Read and check a cloud file.

    :returns: the cloud, its counted entries expanded; the same file gives an equal cloud
    :raises CloudFileError: with every problem that was found, each with its line
    """
    document = read(path)
    try:
        problems = list(schema_problems(document)) or list(_rule_problems(document))
    except RecursionError:
        problems = [Problem(0, "", "nested too deeply")]
    if problems:
        raise CloudFileError(document.source, problems)
    builder = _Builder(document)
    builder.add_all(document.value["providers"], ("providers",), None, {})
    if builder.problems:
        raise CloudFileError(document.source, builder.problems)
    return Cloud(document.source, tuple(builder.providers))


# Rules that a schema cannot say.


def _rule_problems(document: Document) -> Iterator[Problem]:
    yield from _same_aggregates(document)
    yield from _entries_problems(document, document.value["providers"], ("providers",), ())


def _same_aggregates(document: Document) -> Iterator[Problem]:
    seen: dict[str, str] = {}
    for name, value in document.value.get("aggregates", {}).items():
        steps = ("aggregates", name)
        if re.match(UUID_PATTERN, name):
            yield document.problem(steps, "the name of an aggregate cannot be a UUID")
        first = seen.setdefault(value.lower(), name)
        if first != name:
            yield document.problem(steps, f"{first} has this UUID already")


def _entries_problems(
    document: Document, entries: list[Any], steps: Steps, counters: tuple[str, ...]
) -> Iterator[Problem]:
    for i, entry in enumerate(entries):
        here = (*steps, i)
        inner = counters
        if "count" in entry:
            index = entry.get("index", "n")
            if index in counters:
                text = f"the counter {index} is taken by an entry above; name another with index"
                key = "index" if "index" in entry else "count"
                yield document.problem((*here, key), text)
            inner = (*counters, index)
        elif "index" in entry:
            yield document.problem((*here, "index"), "index has no meaning without count")
        if inner and "uuid" in entry:
            text = "an entry that is counted cannot have a uuid"
            yield document.problem((*here, "uuid"), text)
        problem = partial(document.problem, (*here, "name"))
        yield from map(problem, _name_faults(entry["name"], inner))
        for name, record in entry.get("inventories", {}).items():
            if isinstance(record, dict) and record.get("reserved", 0) > record["total"]:
                text = f"{record['reserved']} is more than the total of {record['total']}"
                yield document.problem((*here, "inventories", name, "reserved"), text)
        yield from _repeats(document, entry.get("traits", []), (*here, "traits"))
        aggregates = [_aggregate_uuid(document, name) for name in entry.get("aggregates", [])]
        yield from _repeats(document, aggregates, (*here, "aggregates"))
        yield from _entries_problems(
            document, entry.get("children", []), (*here, "children"), inner
        )


def _name_faults(name: str, counters: tuple[str, ...]) -> Iterator[str]:
    used = [match[1] for match in _COUNTER.finditer(name)]
    for counter in dict.fromkeys(counters):
        if counter not in used:
            yield f"{shown(name)} must contain the counter {{{counter}}}"
    for counter in dict.fromkeys(used):
        if counter not in counters:
            yield f"{{{counter}}} stands for a counter, but no entry here has that count"
    if re.search(r"[{}]", _COUNTER.sub("", name)):
        yield f"{shown(name)}: braces hold a counter, such as {{n}} or {{n:02}}"


def _repeats(document: Document, values: list[str], steps: Steps) -> Iterator[Problem]:
    for i, value in enumerate(values):
        if value in values[:i]:
            yield document.problem((*steps, i), "is in the list already")


def _aggregate_uuid(document: Document, name: str) -> str:
    if re.match(UUID_PATTERN, name):
        return name.lower()
    listed: str | None = document.value.get("aggregates", {}).get(name)
    return listed.lower() if listed else _uuid_of("aggregate", name)


def _uuid_of(kind: str, name: str) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_URL, f"urn:placement:{kind}:{name}"))


class _Builder:
    """Expands entries that passed all checks of one entry into providers."""

    def __init__(self, document: Document) -> None:
        self.providers: list[Provider] = []
        self.problems: list[Problem] = []
        self._document = document
        self._names: dict[str, int] = {}
        self._uuids: dict[str, int] = {}

    def add_all(
        self, entries: list[Any], steps: Steps, parent: str | None, counters: Mapping[str, int]
    ) -> None:
        for i, entry in enumerate(entries):
            for number in range(1, int(entry.get("count", 1)) + 1):
                if len(self.providers) >= MAX_PROVIDERS:
                    self._wrong((*steps, i), f"the file has over {MAX_PROVIDERS} providers")
                    return
                numbers = {**counters, entry.get("index", "n"): number}
                self._add(entry, (*steps, i), parent, numbers if "count" in entry else counters)

    def _add(
        self, entry: Any, steps: Steps, parent: str | None, counters: Mapping[str, int]
    ) -> None:
        name = _COUNTER.sub(lambda match: format(counters[match[1]], match[2] or ""), entry["name"])
        own_uuid = entry["uuid"].lower() if "uuid" in entry else _uuid_of("provider", name)
        line = self._document.line(steps)
        if len(name) > 200:
            self._wrong((*steps, "name"), f"{shown(name)} is longer than 200 characters")
        if name in self._names:
            text = f"{shown(name)} is the name of the entry in line {self._names[name]} too"
            self._wrong((*steps, "name"), text)
        elif own_uuid in self._uuids:
            text = f"is the UUID of the entry in line {self._uuids[own_uuid]} too"
            self._wrong((*steps, "uuid"), text)
        self._names[name] = self._uuids[own_uuid] = line
        inventories = {
            resource_class: _inventory(record)
            for resource_class, record in entry.get("inventories", {}).items()
        }
        self.providers.append(
            Provider(
                name=name,
                uuid=own_uuid,
                parent_uuid=parent,
                inventories=MappingProxyType(inventories),
                traits=frozenset(entry.get("traits", [])),
                aggregates=frozenset(
                    _aggregate_uuid(self._document, aggregate)
                    for aggregate in entry.get("aggregates", [])
                ),
                line=line,
            )
        )
        self.add_all(entry.get("children", []), (*steps, "children"), own_uuid, counters)

    def _wrong(self, steps: Steps, text: str) -> None:
        self.problems.append(self._document.problem(steps, text))


def _inventory(record: Any) -> Inventory:
    if not isinstance(record, dict):
        record = {"total": record}
    # The schema takes 8.0 for a whole number.
    whole = {key: int(value) for key, value in record.items() if key != "allocation_ratio"}
    return Inventory(**whole, allocation_ratio=float(record.get("allocation_ratio", 1.0)))
