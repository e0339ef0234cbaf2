"""Lists of providers, in pages and with parts: each provider once, and no other provider."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import orjson
import pytest
import sqlalchemy as sa

from placement.api.operations import provider_shapes
from placement.db import tables as t
from placement.db.statements import provider_list
from placement.objects.provider_parts import Part
from tests.kit.cloud import Stock, aggregate_uuid, building, provider_uuid
from tests.kit.service import Service, claim

HOSTS = 23
# Ratios that lose digits where floats are not written whole.
RATIOS = (16.0, 1.1, 1 / 3, 0.1 + 0.2, 1e-7, 1e20, 123456.789)
TRAITS = ["HW_CPU_X86_AVX", "HW_CPU_X86_AVX2", "HW_CPU_X86_AVX512F", "COMPUTE_NODE", "HW_NIC_VMDQ"]
RANDOM = [
    "f81d4fae-7dec-11d0-a765-00a0c91e6bf6",
    "0b5c1a52-4f4e-4d0a-9c3f-2b7d6f1c9e11",
    "9e107d9d-372b-4b6d-8f00-12ab34cd56ef",
    "c9bf9e57-1685-4c89-bafb-ff5af830be8a",
]


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with Service(tmp_path_factory.mktemp("lists")) as service:
        with building(service.database.writer) as cloud:
            for number in range(HOSTS):
                ratio = RATIOS[number % len(RATIOS)]
                stock: dict[str, int | Stock] = {"VCPU": Stock(64, number % 4, 1, 32, 1, ratio)}
                if number % 3:
                    stock["DISK_GB"] = 1000 + number
                cloud.add(
                    f"host{number}",
                    stock,
                    parent=number if number % 5 == 4 else None,
                    traits=TRAITS[number % 3 : 1 + number % 6],
                    aggregates=[aggregate_uuid(each) for each in range(number % 4)],
                )
        for number, uuid in enumerate(RANDOM):
            service.expect(200, "POST", "/resource_providers", {"name": uuid, "uuid": uuid})
            spelled = [aggregate_uuid(90 + number).replace("-", "").upper(), aggregate_uuid(1)]
            body = {"resource_provider_generation": 0, "aggregates": spelled}
            service.expect(200, "PUT", f"/resource_providers/{uuid}/aggregates", body)
        for number in range(8):
            amounts = {provider_uuid(1 + number % 2): {"VCPU": 1}}
            amounts[provider_uuid(3)] = {"VCPU": 1, "DISK_GB": 5}
            service.expect(204, "PUT", f"/allocations/{consumer(number)}", claim(amounts))
            if number % 2:
                again = claim(amounts, generation=1)
                service.expect(204, "PUT", f"/allocations/{consumer(number)}", again)
        yield service


def consumer(number: int) -> str:
    return f"c0000000-0000-4000-8000-{number:012d}"


def listed(service: Service, query: str = "") -> list[dict[str, Any]]:
    providers: list[dict[str, Any]] = service.get(f"/resource_providers?{query}", "2.0")[
        "resource_providers"
    ]
    return providers


def own_body(service: Service, uuid: str, part: Part) -> Any:
    return service.get(f"/resource_providers/{uuid}/{part.value}", "2.0")[part.value]


@pytest.mark.parametrize("part", Part, ids=lambda part: part.value)
def test_a_part_is_what_it_is_by_itself(service: Service, part: Part) -> None:
    with_part = listed(service, f"include={part.value}")
    assert len(with_part) == HOSTS + len(RANDOM)
    for provider in with_part:
        expected = own_body(service, provider["uuid"], part)
        assert provider[part.value] == expected
        path = f"/resource_providers/{provider['uuid']}?include={part.value}"
        assert service.get(path, "2.0") == provider
    assert any(provider[part.value] for provider in with_part)


def test_parts_are_added_to_what_a_list_shows_without_them(service: Service) -> None:
    names = [part.value for part in Part]
    plain = {provider["uuid"]: provider for provider in listed(service)}
    for provider in listed(service, f"include={','.join(names)}"):
        for name in names:
            provider.pop(name)
        assert provider == plain.pop(provider["uuid"])
    assert plain == {}


# Each of the four parameters leaves out a host that the others would show.
REPEATED = (
    f"member_of={aggregate_uuid(2)}&member_of={aggregate_uuid(1)}&"
    "required=HW_CPU_X86_AVX2&required=!HW_CPU_X86_AVX&"
)


def test_each_repeated_parameter_is_a_condition_of_its_own(service: Service) -> None:
    uuids = {each["uuid"] for each in listed(service, REPEATED)}
    assert len(uuids) > 1
    terms = REPEATED.rstrip("&").split("&")
    for term in (terms[0], *terms[2:]):
        others = "&".join(each for each in terms if each != term)
        assert {each["uuid"] for each in listed(service, others)} > uuids, term


@pytest.mark.parametrize("query", ["", "required=HW_CPU_X86_AVX2&", "include=usages&", REPEATED])
@pytest.mark.parametrize("size", [1, 2, 3, HOSTS + len(RANDOM) - 1, HOSTS + len(RANDOM), 1000])
def test_pages_together_are_the_list(service: Service, query: str, size: int) -> None:
    href: str | None = f"/resource_providers?{query}limit={size}"
    pages = []
    while href is not None:
        body = service.get(href, "2.0")
        pages.append(body["resource_providers"])
        [link] = body.get("resource_providers_links", [None])
        href = link and link["href"]
    providers = [provider for page in pages for provider in page]
    assert all(len(page) == size for page in pages[:-1])
    assert 0 < len(pages[-1]) <= size
    uuids = [provider["uuid"] for provider in providers]
    assert all(one < other for one, other in pairwise(uuids))
    # A page with a link is not the last one, so the link was followed.
    assert len(pages) == max(1, -(-len(providers) // size))
    assert providers == sorted(listed(service, query), key=lambda provider: provider["uuid"])


def test_a_marker_has_the_position_of_the_row_of_its_uuid(service: Service) -> None:
    """Rows of an adopted database may not have the canonical form."""
    plain = RANDOM[2].replace("-", "").upper()
    provider, column = t.resource_providers, t.resource_providers.c.uuid
    with service.database.writer.begin() as conn:
        conn.execute(sa.update(provider).where(column == RANDOM[2]).values(uuid=plain))
    try:
        order = [each["uuid"] for each in listed(service, "limit=1000")]
        assert plain in order
        usual = RANDOM[1]
        for form, uuid in ((plain, plain), (usual.upper(), usual), (usual.replace("-", ""), usual)):
            after = [each["uuid"] for each in listed(service, f"marker={form}")]
            assert after == order[order.index(uuid) + 1 :]
    finally:
        with service.database.writer.begin() as conn:
            conn.execute(sa.update(provider).where(column == plain).values(uuid=RANDOM[2]))


def test_a_page_of_consumers_follows_the_row_of_its_marker(service: Service) -> None:
    stored = consumer(3).replace("-", "").upper()

    def rename(old: str, new: str) -> None:
        with service.database.writer.begin() as conn:
            for column in (t.consumers.c.uuid, t.allocations.c.consumer_id):
                conn.execute(sa.update(column.table).where(column == old).values({column: new}))

    rename(consumer(3), stored)
    try:
        everyone = [each["uuid"] for each in service.get("/consumers", "2.0")["consumers"]]
        assert stored in everyone
        paged: list[str] = []
        href: str | None = "/consumers?limit=1"
        while href is not None and len(paged) <= len(everyone):
            body = service.get(href, "2.0")
            paged += [each["uuid"] for each in body["consumers"]]
            [link] = body.get("consumers_links", [None])
            href = link and link["href"]
        assert paged == everyone
    finally:
        rename(stored, consumer(3))


VERSIONS = ["1.0", "1.1", "1.5", "1.6", "1.10", "1.11", "1.13", "1.14", "1.39", "2.0"]


@pytest.mark.parametrize("prefix", ["", "/placement"])
@pytest.mark.parametrize("version", VERSIONS)
def test_the_list_of_all_is_the_text_of_each_in_the_order_of_their_rows(
    service: Service, version: str, prefix: str
) -> None:
    with service.database.read() as conn:
        provider = t.resource_providers
        uuids = conn.scalars(sa.select(provider.c.uuid).order_by(provider.c.id)).all()

    def content(path: str) -> bytes:
        return service.send("GET", path, version=version, root_path=prefix).content

    texts = [content(f"/resource_providers/{uuid}") for uuid in uuids]
    expected = b'{"resource_providers":[%b]}' % b",".join(texts)
    for _ in range(2):  # read, and out of memory
        assert content("/resource_providers") == expected
    assert prefix.encode() in expected


@pytest.mark.parametrize(
    ("query", "is_empty"),
    [
        ("resources=VCPU:1", False),
        ("resources=DISK_GB:1010", False),
        ("resources=VCPU:1000000", True),  # more than any host provides, and than a row holds
        (f"resources=VCPU:{2**31}", True),
        (f"required=HW_CPU_X86_AVX2&resources=VCPU:1&member_of={aggregate_uuid(1)}", False),
        ("required=HW_CPU_X86_AVX2,!COMPUTE_NODE", False),
        (f"member_of={aggregate_uuid(1)}", False),
        (f"member_of={aggregate_uuid(77)}", True),
        (f"in_tree={provider_uuid(4)}", False),
        ("name=host7", False),
        (f"uuid={provider_uuid(7)}", False),
    ],
)
def test_a_list_with_conditions_has_the_matching_providers_with_their_text(
    service: Service, query: str, *, is_empty: bool
) -> None:
    page = listed(service, f"{query}&limit=1000")
    whole = listed(service)
    expected = [provider for provider in whole if provider in page]
    assert is_empty == (not expected)
    assert len(expected) == len(page) < len(whole)
    assert listed(service, query) == expected  # out of memory
    service.restart()
    assert listed(service, query) == expected  # read
    assert listed(service) == whole  # partly read


@pytest.mark.parametrize("together", [1, 4, HOSTS])
@pytest.mark.parametrize(
    "query", ["", "limit=10", f"limit={HOSTS + len(RANDOM)}", "limit=12&include=traits,usages"]
)
def test_a_list_in_pieces_is_the_same_as_one_in_a_piece(
    service: Service, monkeypatch: pytest.MonkeyPatch, query: str, together: int
) -> None:
    def content() -> bytes:
        return service.send("GET", f"/resource_providers?{query}", version="2.0").content

    monkeypatch.setattr(provider_shapes, "MAX_CACHED", 0)
    whole = content()
    assert orjson.dumps(orjson.loads(whole)) == whole
    monkeypatch.setattr(provider_shapes, "CHUNK_SIZE", together)
    assert content() == whole


def test_many_changed_providers_are_read_with_all_others(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    for chunk in (1000, 3):
        monkeypatch.setattr(provider_list, "CHUNK_SIZE", chunk)
        for number in (1, 2, 7, 11):
            path = f"/resource_providers/{provider_uuid(number)}/aggregates"
            service.expect(200, "PUT", path, [aggregate_uuid(chunk)], version="1.1")
            own = {"name": f"{chunk}-{number}"}
            service.expect(200, "PUT", f"/resource_providers/{provider_uuid(number)}", own)
        kept = service.send("GET", "/resource_providers").content
        service.restart()
        assert service.send("GET", "/resource_providers").content == kept
        assert kept.count(b'"name":"%d-' % chunk) == 4
