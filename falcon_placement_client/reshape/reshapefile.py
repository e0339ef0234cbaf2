"""Reshape files. `falcon_placement_client.reshape` documents the format."""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

from falcon_placement_client.provider_data import MAX_NAME, ProviderData
from falcon_placement_client.yamlfile.document import Document, read
from falcon_placement_client.yamlfile.problems import Problem, Steps, UnusableFile
from falcon_placement_client.yamlfile.schema import (
    RESOURCE_CLASS,
    TRAITS,
    UUID,
    closed,
    inventories,
    names,
    schema_problems,
    whole,
)


@dataclass(frozen=True, slots=True)
class ProviderSelector:
    """The conditions that select the providers of a step.

    None and empty sets match any provider.
    """

    # Pattern with `*` and `?`.
    name: str | None = None
    # Whether the providers are roots. None matches both.
    root: bool | None = None
    traits: frozenset[str] = frozenset()
    without_traits: frozenset[str] = frozenset()
    # Uuids of aggregates.
    aggregates: frozenset[str] = frozenset()
    resources: frozenset[str] = frozenset()

    def matches(self, provider: ProviderData) -> bool:
        """Return whether a provider satisfies all conditions."""
        return (
            (self.name is None or fnmatchcase(provider.name, self.name))
            and (self.root is None or self.root == (provider.parent_uuid is None))
            and self.traits <= provider.traits
            and not self.without_traits & provider.traits
            and self.aggregates <= provider.aggregates
            and self.resources <= provider.inventory.keys()
        )


@dataclass(frozen=True, slots=True)
class Child:
    """A child that receives inventories from its parent."""

    # Name of the child, with `{name}` for the name of the provider.
    name: str
    traits: frozenset[str] = frozenset()
    # Values in the record of each class that differ from an equal share.
    stated: Mapping[str, Mapping[str, int | float]] = field(default_factory=dict)

    def name_for(self, provider: str) -> str:
        """Return the name of the child of a provider."""
        return self.name.replace("{name}", provider)


@dataclass(frozen=True, slots=True)
class Move:
    """Move classes from providers to their children."""

    # Line number in the file.
    line: int
    # The providers that lose the classes.
    providers: ProviderSelector
    # Names of the classes to move.
    classes: Sequence[str]
    # The children that receive the classes.
    children: Sequence[Child]
    # Whether the allocations of a consumer may be divided among children.
    split: bool = False


@dataclass(frozen=True, slots=True)
class Rename:
    """Rename classes of providers."""

    line: int
    providers: ProviderSelector
    # Old name -> new name.
    names: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Give:
    """Add traits to providers."""

    line: int
    providers: ProviderSelector
    traits: frozenset[str]


Step = Move | Rename | Give


@dataclass(frozen=True, slots=True)
class Transformation:
    """The steps of a file, in order."""

    source: str
    # The steps. Each step applies to the result of the previous one.
    steps: Sequence[Step]


# Maximum number of children of a provider.
MAX_CHILDREN = 1_000

_CHILD = closed(
    ["child"],
    child=names("a name on one line", r"^[^\x00-\x1f\x7f]*\Z", MAX_NAME),
    count=whole(1, MAX_CHILDREN),
    traits=TRAITS,
    inventories=inventories({"exclusiveMinimum": 0}),
)
_FILTER = closed(
    [],
    name=names("a pattern of names", r"^[^\x00-\x1f\x7f]*\Z", MAX_NAME),
    root={"type": "boolean"},
    traits=TRAITS,
    without_traits=TRAITS,
    aggregates={"type": "array", "items": UUID},
    resources={"type": "array", "items": RESOURCE_CLASS},
)
_STEP = closed(
    ["providers"],
    providers=_FILTER,
    move={"type": "array", "minItems": 1, "items": RESOURCE_CLASS},
    to={"type": "array", "minItems": 1, "items": _CHILD},
    split={"type": "boolean"},
    rename={
        "type": "object",
        "minProperties": 1,
        "propertyNames": RESOURCE_CLASS,
        "additionalProperties": RESOURCE_CLASS,
    },
    give={**TRAITS, "minItems": 1},
)
SCHEMA: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    **closed(["steps"], steps={"type": "array", "minItems": 1, "items": _STEP}),
}

_VERBS = ("move", "rename", "give")
_NUMBER = re.compile(r"\{n(?::(0[1-9])d?)?\}")


def load_transformation(path: str | os.PathLike[str]) -> Transformation:
    """Read and validate a reshape file.

    Raises UnusableFile, which contains all problems of the file.
    """
    document = read(path)
    problems = list(schema_problems(document, SCHEMA)) or list(_rule_problems(document))
    if problems:
        raise UnusableFile(document.source, problems)
    steps = document.value["steps"]
    return Transformation(
        document.source,
        tuple(_step(entry, document.line(("steps", i))) for i, entry in enumerate(steps)),
    )


def _rule_problems(document: Document) -> Iterator[Problem]:
    """Yield violations of rules that the schema cannot express."""
    for i, entry in enumerate(document.value["steps"]):
        where: Steps = ("steps", i)
        verbs = [verb for verb in _VERBS if verb in entry]
        if len(verbs) != 1:
            stated = " and ".join(verbs) or "none of them"
            text = f"a step has one of {', '.join(_VERBS)}; this one has {stated}"
            yield document.problem(where, text)
        elif verbs[0] == "move":
            yield from _move_problems(document, entry, where)
        else:
            for key in ("to", "split"):
                if key in entry:
                    yield document.problem((*where, key), f"{key} has no meaning without move")
        if "rename" in entry:
            yield from _rename_problems(document, entry["rename"], (*where, "rename"))


def _move_problems(document: Document, entry: Mapping[str, Any], where: Steps) -> Iterator[Problem]:
    if "to" not in entry:
        yield document.problem(where, "to is missing: the children to which the classes move")
        return
    names_seen: set[str] = set()
    for i, child in enumerate(entry["to"]):
        here: Steps = (*where, "to", i)
        name = child["child"]
        if "{name}" not in name:
            yield document.problem((*here, "child"), f"{name!r} must contain {{name}}")
        if bool(_NUMBER.search(name)) != ("count" in child):
            has = "must contain the number {n}" if "count" in child else "has {n}, but no count"
            yield document.problem((*here, "child"), f"{name!r} {has}")
        if re.search(r"[{}]", _NUMBER.sub("", name.replace("{name}", ""))):
            text = f"{name!r}: braces hold name or n, such as {{n}} or {{n:02}}"
            yield document.problem((*here, "child"), text)
        elif name in names_seen:
            yield document.problem((*here, "child"), f"{name!r} is in the list already")
        names_seen.add(name)
        for resource_class in child.get("inventories", {}):
            if resource_class not in entry["move"]:
                text = f"{resource_class} does not move; move has {', '.join(entry['move'])}"
                yield document.problem((*here, "inventories", resource_class), text)


def _rename_problems(
    document: Document, renames: Mapping[str, str], where: Steps
) -> Iterator[Problem]:
    for old, new in renames.items():
        if new in renames:
            text = f"{new} is renamed itself" if new != old else f"{old} has this name already"
            yield document.problem((*where, old), text)
        elif list(renames.values()).count(new) > 1:
            yield document.problem((*where, old), f"two classes cannot both become {new}")


def _step(entry: Mapping[str, Any], line: int) -> Step:
    providers = _filter(entry["providers"])
    if "move" in entry:
        children = [child for child_entry in entry["to"] for child in _children(child_entry)]
        classes = tuple(dict.fromkeys(entry["move"]))
        return Move(line, providers, classes, children, entry.get("split", False))
    if "rename" in entry:
        return Rename(line, providers, entry["rename"])
    return Give(line, providers, frozenset(entry["give"]))


def _filter(entry: Mapping[str, Any]) -> ProviderSelector:
    sets = ("traits", "without_traits", "resources")
    return ProviderSelector(
        entry.get("name"),
        entry.get("root"),
        **{key: frozenset(entry.get(key, ())) for key in sets},
        aggregates=frozenset(uuid.lower() for uuid in entry.get("aggregates", ())),
    )


def _children(entry: Mapping[str, Any]) -> Iterator[Child]:
    """Yield the child of an entry, or its numbered children if there are several."""
    stated = {
        resource_class: record if isinstance(record, dict) else {"total": record}
        for resource_class, record in entry.get("inventories", {}).items()
    }
    for number in range(1, entry.get("count", 1) + 1):
        name = _numbered(entry["child"], number)
        yield Child(name, frozenset(entry.get("traits", ())), stated)


def _numbered(name: str, number: int) -> str:
    return _NUMBER.sub(lambda match: format(number, match[1] or ""), name)
