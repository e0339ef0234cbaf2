"""Clouds as files: the text is correct and readable."""

from __future__ import annotations

import dataclasses
import uuid
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from falcon_placement_client.inventory import InventoryRecord
from falcon_placement_client.loader import Cloud, CloudConsumer, lines, load_file
from falcon_placement_client.loader.cloud import CloudSpreadGroup
from falcon_placement_client.loader.expansion import provider_uuid
from falcon_placement_client.provider_data import ProviderData
from placement.vocabulary import MAX_INTEGER

amounts = st.integers(1, MAX_INTEGER)
texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), min_size=1)
provider_names = texts.filter(lambda text: len(text) <= 200) | st.sampled_from(
    [
        "yes",
        "NULL",
        "1e5",
        "0x10",
        "a: b",
        "# a",
        "- a",
        "{n}",
        "2001-01-01",
        "~",
        " a ",
        "\ufffe" * 200,
    ]
)
classes = st.sampled_from(["VCPU", "DISK_GB", "CUSTOM_0", "1", "ON", "_"])
traits = st.sampled_from(["HW_NUMA_ROOT", "CUSTOM_A", "7", "NO", "1E5"])
uuids = st.uuids().map(str)
inventories = st.builds(
    InventoryRecord,
    total=amounts,
    reserved=st.just(0),
    min_unit=amounts,
    max_unit=amounts,
    step_size=amounts,
    allocation_ratio=st.floats(0, 3e38) | st.sampled_from([1.0, 16.0, 1e16]),
)


@st.composite
def clouds(draw: st.DrawFn) -> Cloud:
    providers: list[ProviderData] = []
    for name in draw(st.lists(provider_names, max_size=8, unique=True)):
        parents = [None, *(provider.uuid for provider in providers)]
        providers.append(
            ProviderData(
                name=name,
                uuid=draw(uuids | st.just(provider_uuid(name))),
                parent_uuid=draw(st.sampled_from(parents)),
                inventory=draw(st.dictionaries(classes, inventories, max_size=3)),
                traits=draw(st.frozensets(traits, max_size=3)),
                aggregates=draw(st.frozensets(uuids, max_size=3)),
            )
        )
    consumers: tuple[CloudConsumer, ...] = ()
    if providers:
        provider_uuids = st.sampled_from([provider.uuid for provider in providers])
        resources = st.dictionaries(classes, amounts, min_size=1, max_size=2)
        consumer = st.builds(
            CloudConsumer,
            uuid=uuids,
            project=texts.filter(lambda text: len(text) <= 255),
            user=texts.filter(lambda text: len(text) <= 255),
            type=st.none() | st.sampled_from(["INSTANCE", "ON", "1"]),
            allocations=st.dictionaries(provider_uuids, resources, min_size=1, max_size=3),
            line=st.just(0),
            spread_group=st.none()
            | st.builds(
                CloudSpreadGroup,
                st.sampled_from(["web", "1:2", "NO", "-"]),
                st.integers(1, 2**31 - 1),
            ),
        )
        consumer |= consumer.map(with_request)
        consumers = tuple(draw(st.lists(consumer, max_size=3, unique_by=lambda one: one.uuid)))
    custom = st.dictionaries(st.sampled_from(["CUSTOM_A", "CUSTOM_1E5"]), st.just(0))
    return Cloud("cloud.yaml", tuple(providers), consumers, draw(custom), draw(custom))


def with_request(consumer: CloudConsumer) -> CloudConsumer:
    """Add a request with a group for each provider of the consumer."""
    groups = {
        str(number or ""): {"resources": dict(amounts)}
        for number, amounts in enumerate(consumer.allocations.values())
    }
    return dataclasses.replace(consumer, request={"groups": groups, "group_policy": "none"})


def content(cloud: Cloud) -> object:
    """Return the content of a cloud, independent of lines and the order of its entries."""
    return (
        {provider.uuid: provider for provider in cloud.providers},
        {consumer.uuid: dataclasses.replace(consumer, line=0) for consumer in cloud.consumers},
        cloud.custom_classes.keys(),
        cloud.custom_traits.keys(),
    )


def write(cloud: Cloud, path: Path) -> Path:
    path.write_text("".join(f"{line}\n" for line in lines(cloud)))
    return path


@given(cloud=clouds())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_is_written_is_read_as_the_same_cloud(cloud: Cloud, tmp_path: Path) -> None:
    path = write(cloud, tmp_path / "cloud.yaml")
    assert content(load_file(path)) == content(cloud)


def test_a_file_reads_well() -> None:
    host = ProviderData(
        name="host",
        uuid=provider_uuid("host"),
        parent_uuid=None,
        inventory={"VCPU": InventoryRecord(8), "DISK_GB": InventoryRecord(100, 10, max_unit=50)},
        traits=frozenset(["HW_NUMA_ROOT", "CUSTOM_A"]),
        aggregates=frozenset(["5ac00000-0000-4000-8000-00000000000a"]),
    )
    gpu_uuid = str(uuid.UUID(int=7))
    gpu = ProviderData(gpu_uuid, "a {b}", host.uuid)
    consumer = CloudConsumer(
        str(uuid.UUID(int=1)), "42", "0d2f", "INSTANCE", {host.uuid: {"VCPU": 2, "DISK_GB": 5}}, 0
    )
    cloud = Cloud("x", (host, gpu), (consumer,), {"CUSTOM_B": 0}, {"CUSTOM_A": 0})
    assert (
        "\n".join(line for line in lines(cloud) if not line.startswith("#"))
        == """\
resource_classes:
- CUSTOM_B
traits:
- CUSTOM_A
providers:
- name: host
  inventories:
    DISK_GB: {total: 100, reserved: 10, max_unit: 50}
    VCPU: 8
  traits: [CUSTOM_A, HW_NUMA_ROOT]
  aggregates: [5ac00000-0000-4000-8000-00000000000a]
  children:
  - name: "a {{b}}"
    uuid: 00000000-0000-0000-0000-000000000007
consumers:
- uuid: 00000000-0000-0000-0000-000000000001
  type: INSTANCE
  project: "42"
  user: "0d2f"
  allocations:
    host: {DISK_GB: 5, VCPU: 2}"""
    )
