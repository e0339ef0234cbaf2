"""The content of a picture. Each provider has a card, which contains the cards of its children."""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum

from falcon_placement_client.inventory import InventoryRecord
from falcon_placement_client.loader import Cloud
from falcon_placement_client.provider_data import ProviderData
from falcon_placement_client.vocabulary import SHARING_TRAIT


class CardKind(Enum):
    """The role of a provider in its tree. The value is the label."""

    SHARING = "shares"
    ROOT = "root"
    NUMA = "NUMA node"
    NETWORK = "network"
    DEVICE = "device"
    CHILD = "provider"


@dataclass(frozen=True, slots=True)
class CardRow:
    """One inventory."""

    resource_class: str
    total: int
    # Values that differ from the default.
    notes: str
    # Capacity of the inventory. Usage must not exceed the capacity.
    capacity: int
    # Units in use, or None if the cloud has no consumers.
    used: int | None


@dataclass(frozen=True, slots=True)
class Tag:
    """An aggregate."""

    # Name of the aggregate in the file, or its UUID.
    name: str
    # Index among all aggregates of the cloud.
    number: int


@dataclass(frozen=True, slots=True)
class Card:
    """A provider, or several equal siblings."""

    names: tuple[str, ...]
    # Role of the provider. The role is the label of the card.
    kind: CardKind
    rows: tuple[CardRow, ...]
    traits: tuple[str, ...]
    tags: tuple[Tag, ...]
    # Cards of the children of the first provider.
    children: tuple["Card", ...] = field(default=())

    def content(self) -> Hashable:
        """Return the content without names. If it is equal, cards can be collapsed into one."""
        child_contents = tuple((len(child.names), child.content()) for child in self.children)
        return self.kind, self.rows, self.traits, self.tags, child_contents


def cards(cloud: Cloud, *, collapse: bool = True) -> list[Card]:
    """Return the cards of the roots, in the order of the cloud."""
    used = _used(cloud)
    tags = _tags(cloud)
    children: dict[str | None, list[Card]] = defaultdict(list)
    # Process providers in reverse, because the cards of children must exist before the parent's
    # card.
    for provider in reversed(cloud.providers):
        child_cards = children.pop(provider.uuid, [])[::-1]
        if collapse:
            child_cards = _collapsed(child_cards)
        provider_tags = [tags[uuid] for uuid in provider.aggregates]
        card = Card(
            names=(provider.name,),
            kind=_kind(provider),
            rows=_rows(provider, used),
            traits=tuple(sorted(provider.traits)),
            tags=tuple(sorted(provider_tags, key=lambda tag: tag.number)),
            children=tuple(child_cards),
        )
        children[provider.parent_uuid].append(card)
    roots = children[None][::-1]
    return _collapsed(roots) if collapse else roots


def _collapsed(siblings: Sequence[Card]) -> list[Card]:
    """Merge consecutive cards that have equal content."""
    runs: list[Card] = []
    contents: list[Hashable] = []
    for card in siblings:
        content = card.content()
        if contents and contents[-1] == content:
            runs[-1] = replace(runs[-1], names=(*runs[-1].names, *card.names))
        else:
            runs.append(card)
            contents.append(content)
    return runs


def _used(cloud: Cloud) -> Mapping[tuple[str, str], int] | None:
    """Return (provider uuid, class) -> usage, or None if the cloud has no consumers."""
    if not cloud.consumers:
        return None
    used: dict[tuple[str, str], int] = defaultdict(int)
    for consumer in cloud.consumers:
        for uuid, amounts in consumer.allocations.items():
            for resource_class, amount in amounts.items():
                used[uuid, resource_class] += amount
    return used


def _tags(cloud: Cloud) -> dict[str, Tag]:
    """Return uuid -> tag for all aggregates, numbered in the order of their first occurrence."""
    tags: dict[str, Tag] = {}
    for provider in cloud.providers:
        for uuid in sorted(provider.aggregates, key=lambda uuid: _name(cloud, uuid)):
            if uuid not in tags:
                tags[uuid] = Tag(_name(cloud, uuid), len(tags))
    return tags


def _name(cloud: Cloud, aggregate_uuid: str) -> str:
    return cloud.aggregate_names.get(aggregate_uuid, aggregate_uuid[:8])


def _kind(provider: ProviderData) -> CardKind:
    if SHARING_TRAIT in provider.traits:
        return CardKind.SHARING
    if provider.parent_uuid is None:
        return CardKind.ROOT
    if "HW_NUMA_ROOT" in provider.traits:
        return CardKind.NUMA
    if _any_begins(provider.traits, ("HW_NIC_", "CUSTOM_HW_NIC_", "CUSTOM_PHYSNET_")):
        return CardKind.NETWORK
    if _any_begins(provider.inventory, ("SRIOV_NET_", "NET_BW_", "NET_PACKET_")):
        return CardKind.NETWORK
    # Classes of devices. Custom classes are also included, because most of them are devices.
    devices = ("PGPU", "VGPU", "FPGA", "PCI_DEVICE", "MDEV_", "CUSTOM_")
    return CardKind.DEVICE if _any_begins(provider.inventory, devices) else CardKind.CHILD


def _any_begins(names: Iterable[str], prefixes: tuple[str, ...]) -> bool:
    return any(name.startswith(prefixes) for name in names)


def _rows(
    provider: ProviderData, used: Mapping[tuple[str, str], int] | None
) -> tuple[CardRow, ...]:
    return tuple(
        CardRow(
            name,
            record.total,
            _notes(record),
            record.capacity,
            None if used is None else used.get((provider.uuid, name), 0),
        )
        for name, record in sorted(provider.inventory.items())
    )


def _notes(record: InventoryRecord) -> str:
    """Return the values that differ from the defaults."""
    notes = (
        (record.allocation_ratio != 1, f"× {record.allocation_ratio:g}"),
        (record.reserved > 0, f"{record.reserved:,} reserved"),
        (record.min_unit > 1, f"min {record.min_unit:,}"),
        (record.max_unit < record.total, f"max {record.max_unit:,}"),
        (record.step_size > 1, f"step {record.step_size:,}"),
    )
    return ", ".join(text for differs, text in notes if differs)
