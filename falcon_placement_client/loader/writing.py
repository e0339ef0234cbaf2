"""Write a cloud as a cloud file."""

import json
import re
import sys
from collections import defaultdict, deque
from collections.abc import Iterator, Mapping
from functools import lru_cache

import yaml

from falcon_placement_client.inventory import InventoryRecord
from falcon_placement_client.loader.cloud import Cloud, CloudConsumer
from falcon_placement_client.loader.expansion import escape_braces, provider_uuid
from falcon_placement_client.provider_data import ProviderData

HEADING = """\
# A cloud file. `placement-manage load-cloud` brings a server to this state, `draw-cloud` draws it;
# etc/demo-cloud.yaml explains the format.
"""
# Maximum nesting depth of entries. Deeper providers are written as top-level entries with a
# `parent`.
MAX_NESTING = 20

# Maximum length of a key that YAML reads without an explicit mark, in characters.
_MAX_KEY_LENGTH = 1000
# Text that does not need quotes, because it cannot be read as a number, or because it is a UUID.
_PLAIN = re.compile(
    r"[A-Za-z_](?:[A-Za-z0-9_.-]*[A-Za-z0-9_])?\Z|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\Z"
)
_OTHER_VALUES = frozenset(("true", "false", "yes", "no", "on", "off", "null", "y", "n"))


def lines(cloud: Cloud) -> Iterator[str]:
    """Yield the lines of the file for a cloud. Two equal clouds have the same lines."""
    yield from HEADING.splitlines()
    for key, names in (("resource_classes", cloud.custom_classes), ("traits", cloud.custom_traits)):
        if names:
            yield f"{key}:"
            yield from (f"- {_scalar(name)}" for name in sorted(names))
    yield "providers:" if cloud.providers else "providers: []"
    yield from _trees(cloud)
    if cloud.consumers:
        yield "consumers:"
        names_by_uuid = {provider.uuid: provider.name for provider in cloud.providers}
        for consumer in sorted(cloud.consumers, key=lambda consumer: consumer.uuid):
            yield from _consumer(consumer, names_by_uuid)


def _trees(cloud: Cloud) -> Iterator[str]:
    children: dict[str | None, list[ProviderData]] = defaultdict(list)
    for provider in reversed(cloud.providers):
        children[provider.parent_uuid].append(provider)
    names = {provider.uuid: provider.name for provider in cloud.providers}
    # Top-level entries: the roots, and the providers that are nested too deeply.
    tops = deque(reversed(children[None]))
    while tops:
        waiting = [(tops.popleft(), 0)]
        while waiting:
            provider, level = waiting.pop()
            child_providers = children[provider.uuid]
            indent = "  " * level
            parent = names[provider.parent_uuid] if level == 0 and provider.parent_uuid else None
            for i, line in enumerate(_provider(provider, parent)):
                yield f"{indent}{'  ' if i else '- '}{line}"
            if level == MAX_NESTING:
                tops += reversed(child_providers)
            elif child_providers:
                yield f"{indent}  children:"
                waiting += [(child, level + 1) for child in child_providers]


def _provider(provider: ProviderData, parent: str | None) -> Iterator[str]:
    yield f"name: {_scalar(escape_braces(provider.name))}"
    if provider.uuid != provider_uuid(provider.name):
        yield f"uuid: {_scalar(provider.uuid)}"
    if parent is not None:
        yield f"parent: {_scalar(escape_braces(parent))}"
    if provider.inventory:
        yield "inventories:"
        for resource_class, record in sorted(provider.inventory.items()):
            yield f"  {_scalar(resource_class)}: {inventory_text(record)}"
    if provider.traits:
        yield f"traits: [{', '.join(map(_scalar, sorted(provider.traits)))}]"
    if provider.aggregates:
        yield f"aggregates: [{', '.join(map(_scalar, sorted(provider.aggregates)))}]"


@lru_cache(maxsize=10_000)
def inventory_text(record: InventoryRecord) -> str:
    """Return a total, or a mapping with the values that differ from the defaults."""
    fields = record.not_default()
    if len(fields) == 1:
        return str(record.total)
    return f"{{{', '.join(f'{name}: {_scalar(value)}' for name, value in fields.items())}}}"


def _consumer(consumer: CloudConsumer, names_by_uuid: Mapping[str, str]) -> Iterator[str]:
    yield f"- uuid: {_scalar(consumer.uuid)}"
    if consumer.type is not None:
        yield f"  type: {_scalar(consumer.type)}"
    yield f"  project: {_scalar(consumer.project)}"
    yield f"  user: {_scalar(consumer.user)}"
    yield "  allocations:"
    amounts_by_name = {
        names_by_uuid[uuid]: amounts for uuid, amounts in consumer.allocations.items()
    }
    for name, amounts in sorted(amounts_by_name.items()):
        key = _scalar(escape_braces(name))
        pairs = (
            f"{_scalar(resource_class)}: {amount}"
            for resource_class, amount in sorted(amounts.items())
        )
        mark = f"? {key}\n    :" if len(key) > _MAX_KEY_LENGTH else f"{key}:"
        yield f"    {mark} {{{', '.join(pairs)}}}"
    if consumer.spread_group is not None:
        name, max_per_host = consumer.spread_group
        yield f"  spread_group: {{name: {_scalar(name)}, max_per_host: {max_per_host}}}"
    if consumer.request is not None:
        # JSON on one line is also valid YAML.
        yield f"  request: {json.dumps(consumer.request, sort_keys=True)}"


@lru_cache(maxsize=10_000)
def _scalar(value: str | float) -> str:
    """Return a value as one line of YAML. Parsing the line returns the same value."""
    if isinstance(value, str):
        if _PLAIN.match(value) and value.lower() not in _OTHER_VALUES:
            return value
        style = '"'
    else:
        style = None
    text: str = yaml.safe_dump(value, default_style=style, allow_unicode=True, width=sys.maxsize)
    return text.removesuffix("\n").removesuffix("\n...")
