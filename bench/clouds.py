"""The clouds that are measured."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from placement.objects import catalog
from tests.kit.cloud import SHARING, Cloud, Provider, Stock, aggregate_uuid

TRAITS = 50  # number of standard traits of a host
AGGREGATES = 20
ZONES = 3  # availability zones of compute hosts, as aggregates
OF_DISK = aggregate_uuid(AGGREGATES)  # which no host is in

HOST: Mapping[str, int | Stock] = {
    "VCPU": Stock(64, allocation_ratio=16.0),
    "MEMORY_MB": 262_144,
    "DISK_GB": 4_000,
}
CLAIM = {"VCPU": 2, "MEMORY_MB": 2048, "DISK_GB": 20}


def standard_traits(number: int) -> tuple[str, ...]:
    """Return this number of traits for hosts. The result is the same each time."""
    return tuple(sorted(catalog.STANDARD_TRAITS - {SHARING}))[:number]


def flat(hosts: int, consumers: int = 0) -> Cloud:
    """Hosts of three classes and 50 traits, in an aggregate each; 3 of them are rare."""

    def members() -> Iterator[Provider]:
        common = standard_traits(TRAITS)
        for number in range(hosts):
            rare = ("CUSTOM_RARE",) if number in (hosts // 3, hosts // 2, hosts - 1) else ()
            yield Provider(
                HOST,
                common + rare,
                None,
                (aggregate_uuid(number % AGGREGATES),),
                CLAIM if consumers else None,
            )

    return Cloud(f"flat_{hosts}_{consumers}", members, consumers, hosts)


def computes(hosts: int, consumers: int = 0, *, upgraded: int = 1) -> Cloud:
    """Flat hosts as nova reports them, in three availability zones.

    upgraded: one in this number of hosts has the trait OWNER_NOVA, which nova 34 reports.
    """

    def members() -> Iterator[Provider]:
        common = standard_traits(TRAITS - 1)
        for number in range(hosts):
            # Zones and upgrades are independent of each other.
            is_upgraded = number // ZONES % upgraded == 0
            yield Provider(
                HOST,
                (*common, "OWNER_NOVA") if is_upgraded else common,
                None,
                (aggregate_uuid(number % ZONES),),
                CLAIM if consumers else None,
            )

    return Cloud(f"computes_{hosts}_{consumers}_{upgraded}", members, consumers, hosts)


def to_drain(hosts: int) -> Cloud:
    """Flat hosts. The first host has 40 consumers, and the others have none."""

    def members() -> Iterator[Provider]:
        common = standard_traits(TRAITS)
        for number in range(hosts):
            aggregates = (aggregate_uuid(number % AGGREGATES),)
            yield Provider(HOST, common, None, aggregates, None if number else CLAIM)

    return Cloud(f"to_drain_{hosts}", members, 40, hosts)


def light(hosts: int) -> Cloud:
    """Flat hosts of three classes and three traits, two consumers on each; 3 hosts are rare."""

    def members() -> Iterator[Provider]:
        common = standard_traits(3)
        uncommon = {hosts // 3, hosts // 2, hosts - 1}
        for number in range(hosts):
            traits = (*common, "CUSTOM_RARE") if number in uncommon else common
            yield Provider(HOST, traits, None, (aggregate_uuid(number % AGGREGATES),), CLAIM)

    return Cloud(f"light_{hosts}", members, 2, hosts)


def unequal(hosts: int) -> Cloud:
    """Flat hosts with different free capacities."""

    def members() -> Iterator[Provider]:
        common = standard_traits(TRAITS)
        for number in range(hosts):
            stock = {
                "VCPU": Stock(64, reserved=number % 61, allocation_ratio=16.0),
                "MEMORY_MB": Stock(262_144, reserved=number * 7919 % 200_000),
                "DISK_GB": Stock(4_000, reserved=number * 31 % 3_900),
            }
            yield Provider(stock, common, None, (aggregate_uuid(number % AGGREGATES),))

    return Cloud(f"unequal_{hosts}", members, 0, hosts)


def nested(hosts: int) -> Cloud:
    """Trees of 7: a host with disk, two NUMA nodes, two FPGAs below each."""

    def members() -> Iterator[Provider]:
        for tree in range(hosts):
            top = 7 * tree + 1
            yield Provider(
                {"DISK_GB": 4_000}, ("COMPUTE_VOLUME_MULTI_ATTACH", *standard_traits(10))
            )
            for node in (top + 1, top + 4):
                yield Provider(
                    {"VCPU": Stock(32, allocation_ratio=4.0), "MEMORY_MB": 131_072},
                    ("CUSTOM_FOO",),
                    top,
                )
                yield Provider({"FPGA": 1}, ("CUSTOM_BAR",), node)
                yield Provider({"FPGA": 1}, (), node)

    return Cloud(f"nested_{hosts}", members, 0, hosts)


def wide(devices: int, hosts: int = 100, units: int = 1) -> Cloud:
    """Hosts with this number of equal devices, each with this number of units."""

    def members() -> Iterator[Provider]:
        for tree in range(hosts):
            top = (devices + 1) * tree + 1
            yield Provider({"VCPU": Stock(64, allocation_ratio=4.0)})
            for _ in range(devices):
                yield Provider({"VGPU": units}, (), top)

    return Cloud(f"wide_{devices}_{units}", members, 0, hosts)


def cards(hosts: int = 100) -> Cloud:
    """Trees of 64: a host with nine cards, six ports on each."""

    def members() -> Iterator[Provider]:
        for tree in range(hosts):
            top = 64 * tree + 1
            yield Provider({"VCPU": 64})
            for number in range(9):
                yield Provider({}, ("CUSTOM_CARD",), top)
                for _ in range(6):
                    yield Provider({"VGPU": 1}, (), top + 1 + 7 * number)

    return Cloud("cards", members, 0, hosts)


def sharing(hosts: int, aggregates: int = AGGREGATES) -> Cloud:
    """Hosts without a disk, and one shared disk for each aggregate.

    One disk, the first provider after the hosts, is in another aggregate.
    """

    def members() -> Iterator[Provider]:
        stock = {name: HOST[name] for name in ("VCPU", "MEMORY_MB")}
        for number in range(hosts):
            yield Provider(stock, standard_traits(10), None, (aggregate_uuid(number % aggregates),))
        for number in range(aggregates):
            further = () if number else (OF_DISK,)
            yield Provider({"DISK_GB": 10**6}, (SHARING,), None, (aggregate_uuid(number), *further))

    return Cloud(f"shared_disks_{hosts}_{aggregates}", members, 0, hosts)
