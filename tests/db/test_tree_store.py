"""Trees are returned from memory if they are valid, and otherwise from the database."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa
from sqlalchemy.engine import Connection

from placement.candidates import TreeCache
from placement.candidates.budget import COST_PER_READ_PROVIDER, uncharged
from placement.candidates.model import Tree
from placement.candidates.trees.store import TreeStore
from placement.db import tables as t
from tests.kit.cloud import aggregate_uuid, building, provider_uuid
from tests.kit.service import Service, inventories
from tests.kit.statements import counted

TRAIT = "HW_CPU_X86_AVX2"


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with Service(tmp_path_factory.mktemp("store")) as made:
        with building(made.database.writer) as cloud:
            for number in range(3):
                root = cloud.add(f"host{number}", {"DISK_GB": 9}, aggregates=[aggregate_uuid(1)])
                node = cloud.add(f"numa{number}", {"VCPU": 8}, parent=root, traits=[TRAIT])
                cloud.add(f"gpu{number}", {"VGPU": 2}, parent=node, traits=[TRAIT])
        yield made


def roots(conn: Connection) -> list[dict[int, int]]:
    """Return each root separately."""
    provider = t.resource_providers.c
    query = sa.select(provider.id, provider.revision)
    rows = conn.execute(query.where(provider.parent_provider_id.is_(None)))
    return [{row.id: row.revision} for row in rows]


def uuids(trees: list[Tree]) -> list[list[str]]:
    return [[member.uuid for member in tree.members] for tree in trees]


def test_a_tree_is_read_whole_and_once(service: Service) -> None:
    cache, looks = TreeCache(100), list[int]()
    with counted(service.database) as statements, service.database.read_trees() as conn:
        (first, second, _third) = roots(conn)
        statements.clear()
        (tree,) = TreeStore(conn, cache, {}, looks.append).trees(first)
        assert len(statements) == 2
        again, other = TreeStore(conn, cache, {}, uncharged).trees(first | second)
        assert len(statements) == 2 + 2
        TreeStore(conn, cache, {}, uncharged).trees(second | first)
        assert len(statements) == 2 + 2
    assert again is tree
    assert [other.id] == [*second]
    assert looks == [3 * COST_PER_READ_PROVIDER]
    assert [member.parent for member in tree.members] == [-1, 0, 1]
    assert [set(member.stocks) for member in tree.members] == [{"DISK_GB"}, {"VCPU"}, {"VGPU"}]
    assert tree.members[1].traits == tree.members[2].traits == {TRAIT}
    assert tree.aggregates == tree.root.aggregates == {aggregate_uuid(1)}


def test_pinned_trees_are_read_with_the_first_others_and_kept(service: Service) -> None:
    cache = TreeCache(0)  # nothing stays in memory
    with counted(service.database) as statements, service.database.read_trees() as conn:
        (first, second, third) = roots(conn)
        statements.clear()
        store = TreeStore(conn, cache, second, uncharged)
        assert uuids(store.trees(first))[0][0] == provider_uuid(1)
        (pinned,) = store.pinned()
        assert store.trees(second) == [pinned]
        assert len(statements) == 2
        assert [tree.id for tree in store.trees(third | second)] == [*third, *second]
        assert len(statements) == 2 + 2


def test_a_tree_that_has_changed_is_read_again(tmp_path: Path) -> None:
    with Service(tmp_path) as service:
        with building(service.database.writer) as cloud:
            cloud.add("host", {"VCPU": 8})
        cache = TreeCache(100)
        uuid = provider_uuid(1)

        def vcpus() -> int:
            with service.database.read_trees() as conn:
                (tree,) = TreeStore(conn, cache, {}, uncharged).trees(*roots(conn))
            return tree.root.stocks["VCPU"].capacity

        assert vcpus() == 8
        path = f"/resource_providers/{uuid}/inventories"
        service.expect(200, "PUT", path, inventories(0, VCPU=16))
        assert vcpus() == 16


def test_parents_precede_children_with_any_ids(tmp_path: Path) -> None:
    with Service(tmp_path) as service:
        with building(service.database.writer) as cloud:
            for name in ("leaf", "node", "host"):
                cloud.add(name)
        for child, parent in ((2, 3), (1, 2)):
            path = f"/resource_providers/{provider_uuid(child)}"
            body = {"name": f"p{child}", "parent_provider_uuid": provider_uuid(parent)}
            service.expect(200, "PUT", path, body)
        with service.database.read_trees() as conn:
            (tree,) = TreeStore(conn, TreeCache(100), {}, uncharged).trees(*roots(conn))
        assert uuids([tree]) == [[provider_uuid(3), provider_uuid(2), provider_uuid(1)]]
        assert [member.parent for member in tree.members] == [-1, 0, 1]
