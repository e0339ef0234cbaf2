"""The rows that a request reads depend on its result, not on the number of hosts."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from placement.api.history import v
from placement.candidates.trees.tuning import DEFAULT_TUNING as TUNING
from placement.db.statements.sharing import FIRST
from placement.errors import SearchExhausted
from tests.kit.cloud import SHARING, CloudBuilder, aggregate_uuid, building, provider_uuid
from tests.kit.rows import damage
from tests.kit.search import Searcher


def searcher(
    directory: Path, fill: Callable[[CloudBuilder], object], **options: dict[str, object]
) -> Searcher:
    made = Searcher(directory, **options)
    with building(made.database.writer) as cloud:
        fill(cloud)
    return made


@pytest.fixture(scope="module", params=[10, 10_000])
def diskless(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Searcher:
    def fill(cloud: CloudBuilder) -> None:
        for number in range(request.param):
            cloud.add(f"h{number}", {"VCPU": 8}, aggregates=[aggregate_uuid(1)])
        cloud.add("disk", {"DISK_GB": 10**6}, traits=[SHARING], aggregates=[aggregate_uuid(1)])

    return searcher(tmp_path_factory.mktemp("diskless"), fill)


def test_a_disk_that_hosts_share_is_one_candidate_however_many_they_are(diskless: Searcher) -> None:
    found, statements, trees = diskless.find_cold("resources=DISK_GB:10&limit=10")
    assert len(found.candidates) == 1
    assert found.stats.steps <= 2
    assert statements <= 5  # with a few hosts, the first window is the whole cloud
    assert trees <= 33


def test_diskless_hosts_get_their_disk_from_the_shared_one(diskless: Searcher) -> None:
    found, statements, trees = diskless.find_cold("resources=VCPU:1,DISK_GB:10&limit=10")
    assert len({tuple(each.allocations) for each in found.candidates}) == 10
    assert statements == 3  # names, disk and a window; members and traits of trees
    assert trees <= 33  # a window of hosts, and the disk
    assert found.stats.steps <= 40


@pytest.mark.parametrize(("disks", "expected"), [(FIRST - 1, 2), (FIRST, 3), (2 * FIRST, 3)])
def test_sharing_providers_come_with_names_and_many_take_one_statement_more(
    tmp_path: Path, disks: int, expected: int
) -> None:
    """Each host can use a different disk."""

    def fill(cloud: CloudBuilder) -> None:
        for number in range(disks):
            own = [aggregate_uuid(number)]
            cloud.add(f"h{number}", {"VCPU": 8}, aggregates=own)
            cloud.add(f"d{number}", {"DISK_GB": 9}, traits=[SHARING], aggregates=own)

    asked = searcher(tmp_path, fill)
    query = f"resources=VCPU:1,DISK_GB:1&limit={4 * disks}"
    asked.find(query)
    found, statements, _trees = asked.find(query)
    assert {tuple(sorted(each.allocations)) for each in found.candidates} == {
        (provider_uuid(2 * number + 1), provider_uuid(2 * number + 2)) for number in range(disks)
    }
    assert statements == expected  # two windows; the first is read with the names


def test_shared_disks_alone_are_anchored_where_the_root_is_as_asked(tmp_path: Path) -> None:
    def fill(cloud: CloudBuilder) -> None:
        for number in range(500):
            cloud.add(f"h{number}", {}, traits=["HW_CPU_X86_AVX2"], aggregates=[aggregate_uuid(1)])
        for number in range(2):
            cloud.add(
                f"d{number}", {"DISK_GB": 9}, traits=[SHARING], aggregates=[aggregate_uuid(1)]
            )

    asked = searcher(tmp_path, fill)
    found, statements, trees = asked.find_cold("resources=DISK_GB:1&root_required=HW_CPU_X86_AVX2")
    assert {tuple(each.allocations) for each in found.candidates} == {
        (provider_uuid(501),),
        (provider_uuid(502),),
    }
    assert statements == 6
    assert trees <= 64 + 2


@pytest.mark.parametrize("hosts", [100, 2000])
def test_rare_matches_are_found_without_reading_the_rest(tmp_path: Path, hosts: int) -> None:
    def fill(cloud: CloudBuilder) -> None:
        for number in range(hosts):
            rare = ["CUSTOM_RARE"] if number in {50, 70, 99} else []
            cloud.add(f"h{number}", {"VCPU": 8, "MEMORY_MB": 8}, traits=rare)

    asked = searcher(tmp_path, fill)
    query = "resources=VCPU:1,MEMORY_MB:1&required=CUSTOM_RARE&limit=10"
    found, statements, trees = asked.find_cold(query)
    assert len(found.candidates) == 3
    assert trees <= 32 + 3  # the first window, and the matches
    assert statements == 5


def test_of_what_few_trees_have_the_database_checks_nothing_else(tmp_path: Path) -> None:
    """Only two of the hosts with the traits have enough capacity."""

    def fill(cloud: CloudBuilder) -> None:
        for place in range(TUNING.first_window):
            cloud.add(f"h{place}", {"VCPU": 8})
        for place in range(100):
            stock = {"VCPU": 8 if place in {3, 60} else 1}
            cloud.add(f"rare{place}", stock, traits=["CUSTOM_RARE"])
        cloud.add("last", {"VCPU": 8})

    asked = searcher(tmp_path, fill)
    found, statements, trees = asked.find_cold("resources=VCPU:2&required=CUSTOM_RARE")
    first = TUNING.first_window + 1
    assert [tuple(each.allocations) for each in found.candidates] == [
        (provider_uuid(first + place),) for place in (3, 60)
    ]
    assert trees == TUNING.first_window + 100
    # names and a window, members of its trees; the hosts with the trait, their members in batches
    assert statements <= 7


@pytest.mark.parametrize(
    "asked",
    [
        f"member_of={aggregate_uuid(1)}&member_of={aggregate_uuid(2)}",
        "required=CUSTOM_RARE,CUSTOM_RARER",
    ],
)
def test_what_few_have_together_is_found_though_many_have_each(tmp_path: Path, asked: str) -> None:
    def fill(cloud: CloudBuilder) -> None:
        for number in range(1000):
            kinds = {1, 2} if number in {500, 800, 999} else {1 + number // 100 % 2}
            traits = [{1: "CUSTOM_RARE", 2: "CUSTOM_RARER"}[kind] for kind in sorted(kinds)]
            aggregates = [aggregate_uuid(kind) for kind in sorted(kinds)]
            cloud.add(f"h{number}", {"VCPU": 8}, traits=traits, aggregates=aggregates)

    both = searcher(tmp_path, fill)
    found, statements, trees = both.find_cold(f"resources=VCPU:1&{asked}")
    assert [tuple(each.allocations) for each in found.candidates] == [
        (provider_uuid(number + 1),) for number in (500, 800, 999)
    ]
    assert trees == TUNING.first_window + 3
    # names and a window, its trees and their traits; the hosts with both, and their trees
    assert statements == 6


@pytest.mark.parametrize("disk_has_it", [False, True])
def test_a_rare_trait_is_looked_for_in_all_hosts_only_where_a_shared_disk_brings_it(
    tmp_path: Path, disk_has_it: bool
) -> None:
    def fill(cloud: CloudBuilder) -> None:
        rare = ["CUSTOM_RARE"]
        for number in range(1000):
            traits = rare if number in {50, 700, 999} else []
            cloud.add(f"h{number}", {"VCPU": 8}, traits=traits, aggregates=[aggregate_uuid(1)])
        traits = [SHARING, *rare] if disk_has_it else [SHARING]
        cloud.add("disk", {"DISK_GB": 10**6}, traits=traits, aggregates=[aggregate_uuid(1)])

    asked = searcher(tmp_path, fill)
    found, _statements, trees = asked.find_cold("resources=VCPU:1,DISK_GB:1&required=CUSTOM_RARE")
    hosts = range(1000) if disk_has_it else (50, 700, 999)
    assert {uuid for each in found.candidates for uuid in each.allocations} == {
        provider_uuid(1001), *(provider_uuid(number + 1) for number in hosts)
    }  # fmt: skip
    assert disk_has_it or trees <= 64 + 3 + 1


def test_a_search_without_steps_left_gives_what_it_has_or_says_so(tmp_path: Path) -> None:
    def fill(cloud: CloudBuilder) -> None:
        root = cloud.add("host", {})
        for number in range(16):
            cloud.add(f"gpu{number}", {"PGPU": 1}, parent=root)

    groups = "&".join(f"resources{number}=PGPU:1" for number in range(1, 9))
    query = f"{groups}&group_policy=isolate"
    few = searcher(tmp_path, fill, placement={"max_search_steps": 1000})
    found, _statements, _trees = few.find_cold(query)
    assert 0 < len(found.candidates) < 1000
    assert found.stats.exhausted
    none = searcher(tmp_path, fill, placement={"max_search_steps": 5})
    with pytest.raises(SearchExhausted, match="max_search_steps"):
        none.find_cold(query)


def test_one_tree_is_looked_up_by_its_key(tmp_path: Path) -> None:
    def fill(cloud: CloudBuilder) -> None:
        for number in range(500):
            cloud.add(f"h{number}", {"VCPU": 8}, traits=["HW_CPU_X86_AVX2"])

    asked = searcher(tmp_path, fill)
    for more in ("", "&root_required=HW_CPU_X86_AVX2"):
        found, statements, trees = asked.find_cold(
            f"resources=VCPU:1&in_tree={provider_uuid(77)}{more}"
        )
        assert [tuple(each.allocations) for each in found.candidates] == [(provider_uuid(77),)]
        assert (statements, trees) == (4, 1)


def test_a_random_answer_comes_from_all_over_the_cloud(tmp_path: Path) -> None:
    def fill(cloud: CloudBuilder) -> None:
        for number in range(1000):
            cloud.add(f"h{number}", {"VCPU": 8})

    asked = searcher(tmp_path, fill, placement={"randomize_allocation_candidates": True})
    chosen: Counter[str] = Counter()
    for _ in range(40):
        found, statements, trees = asked.find_cold("resources=VCPU:1&limit=20")
        assert len(found.candidates) == 20
        assert statements <= 2 + 5 + 2 + 3  # a sample of four runs; near the end a window more
        assert trees <= 40 + 32
        chosen.update(uuid for each in found.candidates for uuid in each.allocations)
    assert len(chosen) > 400
    assert max(chosen.values()) < 10


def test_rows_without_a_trait_or_a_root_are_left_out(tmp_path: Path) -> None:
    def fill(cloud: CloudBuilder) -> None:
        for name in ("sound", "rootless"):
            cloud.add(name, {"VCPU": 8}, traits=["HW_CPU_X86_AVX2"])

    asked = searcher(tmp_path, fill)
    damage(
        asked.database,
        [
            "INSERT INTO resource_provider_traits (resource_provider_id, trait_id)"
            " VALUES (1, 7777)",
            "UPDATE resource_providers SET root_provider_id = NULL WHERE id = 2",
        ],
    )
    found, _statements, _trees = asked.find_cold("resources=VCPU:1")
    assert [tuple(each.allocations) for each in found.candidates] == [(provider_uuid(1),)]
    (tree,) = found.trees
    assert tree.root.traits == {"HW_CPU_X86_AVX2"}


def test_a_sharing_provider_whose_root_is_none_is_left_out(tmp_path: Path) -> None:
    def fill(cloud: CloudBuilder) -> None:
        host = cloud.add("host", {"VCPU": 8}, aggregates=[aggregate_uuid(1)])
        cloud.add("below", {}, parent=host)
        cloud.add("disk", {"DISK_GB": 9}, traits=[SHARING], aggregates=[aggregate_uuid(1)])

    asked = searcher(tmp_path, fill)
    damage(asked.database, ["UPDATE resource_providers SET root_provider_id = 2 WHERE id = 3"])
    assert not asked.find_cold("resources=VCPU:1,DISK_GB:1")[0].candidates
    assert len(asked.find_cold("resources=VCPU:1")[0].candidates) == 1


@pytest.mark.parametrize(
    "asked",
    [
        "root_member_of=" + aggregate_uuid(7),
        f"root_member_of=in:{aggregate_uuid(7)},{aggregate_uuid(8)}",
        "root_required=CUSTOM_RARE&root_required=in:CUSTOM_RARE,CUSTOM_RARER",
    ],
)
def test_hosts_of_a_small_zone_are_found_without_reading_the_rest(
    tmp_path: Path, asked: str
) -> None:
    """The conditions are an aggregate or a trait that only a few roots have."""

    def fill(cloud: CloudBuilder) -> None:
        for number in range(2000):
            zone = 7 if number in {500, 1500, 1999} else 1
            traits = ["CUSTOM_RARE", "CUSTOM_RARER"] if zone == 7 else []
            aggregates = [aggregate_uuid(zone)]
            cloud.add(f"h{number}", {"VCPU": 8}, traits=traits, aggregates=aggregates)

    zoned = searcher(tmp_path, fill)
    found, statements, trees = zoned.find_cold(f"resources=VCPU:1&limit=10&{asked}", v("2.0"))
    assert len(found.candidates) == 3
    assert trees <= 64 + 3
    assert statements == 5


def test_a_subtree_is_read_alone(tmp_path: Path) -> None:
    def fill(cloud: CloudBuilder) -> None:
        for number in range(500):
            root = cloud.add(f"h{number}", {})
            cloud.add(f"n{number}", {"VCPU": 8}, parent=root)

    nodes = searcher(tmp_path, fill)
    asked = f"resources=VCPU:1&subtree={provider_uuid(801)}&limit=10"
    found, _statements, trees = nodes.find_cold(asked, v("2.0"))
    assert len(found.candidates) == 1
    in_tree = asked.replace("subtree", "in_tree")
    assert trees == nodes.find_cold(in_tree).trees


def test_an_amount_that_few_can_split_is_found_without_reading_the_rest(tmp_path: Path) -> None:
    """The search reads a window, and then the hosts with any of the class, for whole amounts and
    for parts.
    """

    def fill(cloud: CloudBuilder) -> None:
        for number in range(1000):
            host = cloud.add(f"h{number}", {"VCPU": 8})
            if number in {50, 700, 999}:
                for port in range(3):
                    cloud.add(f"port{number}-{port}", {"SRIOV_NET_VF": 1}, parent=host)

    asked = searcher(tmp_path, fill)
    query = "resources=VCPU:1,SRIOV_NET_VF:2&can_split=SRIOV_NET_VF&limit=20"
    found, statements, trees = asked.find_cold(query, v("2.0"))
    assert [len(each.allocations) for each in found.candidates] == [3] * 3
    assert trees <= 64 + 3
    assert statements == 5
