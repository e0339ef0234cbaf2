"""Whole trees of providers in one request."""

import uuid as uuids
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import falcon.testing
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.kit import service as kit
from tests.kit.engines import share
from tests.kit.service import Service
from tests.kit.statements import counted

ROOT, CHILD, OTHER = (str(uuids.UUID(int=number)) for number in (1, 2, 3))
CONSUMER = str(uuids.UUID(int=100))
AGGREGATES = [str(uuids.UUID(int=200 + number)) for number in range(3)]
TRAITS = ["HW_CPU_X86_AVX2", "HW_CPU_X86_SSE", "HW_CPU_X86_SSE2"]
RP = "/resource_providers"

Body = dict[str, Any]


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    with Service(tmp_path) as service:
        yield service
        service.check_used()


def provider(uuid: str, name: str, parent: str | None = ROOT, **parts: Any) -> Body:
    return {"uuid": uuid, "name": name, "parent_provider_uuid": parent, **parts}


def root(**parts: Any) -> Body:
    return provider(ROOT, "root", None, **parts)


def stock(**totals: int) -> Body:
    return {name: {"total": total} for name, total in totals.items()}


def put(
    service: kit.Client, *providers: Body, path: str = ROOT, **members: Any
) -> falcon.testing.Result:
    body = {"providers": list(providers), **members}
    return service.send("PUT", f"/provider_trees/{path}", body, "2.0")


def changes(answer: falcon.testing.Result) -> dict[str, tuple[int, str]]:
    assert answer.status_code == 200, answer.text
    written = answer.json["providers"]
    return {uuid: (each["generation"], each["change"]) for uuid, each in written.items()}


def tree(service: kit.Client, uuid: str = ROOT) -> dict[str, Body]:
    answer = service.expect(200, "GET", f"/provider_trees/{uuid}", version="2.0").json
    return {each["uuid"]: each for each in answer["providers"]}


def detail(answer: falcon.testing.Result) -> str:
    return str(answer.json["errors"][0]["detail"])


def test_a_new_tree_is_created_whatever_the_order_of_the_list(service: Service) -> None:
    written = put(
        service,
        provider(CHILD, "child", OTHER, inventories=stock(VCPU=4), aggregates=AGGREGATES[:1]),
        root(traits=TRAITS[:1]),
        provider(OTHER, "other"),
    )
    assert changes(written) == {CHILD: (1, "created"), ROOT: (1, "created"), OTHER: (0, "created")}
    shown = tree(service)
    assert list(shown) == [ROOT, OTHER, CHILD]
    assert shown[CHILD]["parent_provider_uuid"] == OTHER
    assert shown[CHILD]["inventories"]["VCPU"]["total"] == 4
    assert shown[CHILD]["aggregates"] == AGGREGATES[:1]
    assert shown[ROOT]["traits"] == TRAITS[:1]
    for uuid, each in shown.items():
        assert service.get(f"{RP}/{uuid}")["generation"] == each["generation"]
        assert service.get(f"{RP}/{uuid}")["root_provider_uuid"] == ROOT


def test_the_answer_of_get_is_a_body_of_put_that_changes_nothing(service: Service) -> None:
    inventories = {"VCPU": {"total": 4, "allocation_ratio": 1.7}}
    put(service, root(inventories=inventories), provider(CHILD, "child", traits=TRAITS))
    before = service.dump()
    answer = service.expect(200, "GET", f"/provider_trees/{ROOT}", version="2.0").json
    written = service.expect(200, "PUT", f"/provider_trees/{ROOT}", answer, "2.0")
    assert {change for _, change in changes(written).values()} == {"unchanged"}
    assert service.dump() == before


def test_a_part_that_is_absent_stays_and_others_traits_stay(service: Service) -> None:
    put(service, root(inventories=stock(VCPU=4), traits=TRAITS[:2], aggregates=AGGREGATES[:2]))
    edit = {"add": [TRAITS[2], TRAITS[0]], "remove": [TRAITS[1], "CUSTOM_UNKNOWN"]}
    aggregates = {"add": [AGGREGATES[2]], "remove": [AGGREGATES[0].upper()]}
    written = put(service, root(traits=edit, aggregates=aggregates))
    assert changes(written) == {ROOT: (2, "updated")}
    shown = tree(service)[ROOT]
    assert shown["traits"] == [TRAITS[0], TRAITS[2]]
    assert shown["aggregates"] == AGGREGATES[1:]
    assert list(shown["inventories"]) == ["VCPU"]


def test_names_are_exchanged_and_parents_reversed(service: Service) -> None:
    put(service, root(), provider(CHILD, "child"), provider(OTHER, "other", CHILD))
    written = put(service, root(), provider(CHILD, "other", OTHER), provider(OTHER, "child"))
    assert changes(written)[CHILD] == (0, "updated")
    shown = tree(service)
    assert (shown[CHILD]["name"], shown[CHILD]["parent_provider_uuid"]) == ("other", OTHER)
    assert (shown[OTHER]["name"], shown[OTHER]["parent_provider_uuid"]) == ("child", ROOT)
    written = put(service, root(), provider(CHILD, "other"), provider(OTHER, "child"))
    assert (changes(written)[CHILD], changes(written)[OTHER]) == ((0, "updated"), (0, "unchanged"))


@pytest.mark.parametrize("names", [("x", "X"), ("x", "x "), ("host-a", "HOST-Ä"), ("root", "Root")])
@pytest.mark.parametrize("are_new", [True, False])
def test_names_that_the_database_takes_for_equal_are_refused_at_once(
    service: Service, names: tuple[str, str], are_new: bool
) -> None:
    put(service, root(), provider(CHILD, "1"), provider(OTHER, "2"))
    uuids_of = (str(uuids.UUID(int=4)), str(uuids.UUID(int=5))) if are_new else (CHILD, OTHER)
    listed = [provider(uuid, name) for uuid, name in zip(uuids_of, names, strict=True)]
    if names[0] == "root":
        del listed[0]
    before = service.dump()
    answer = put(service, root(), *listed)
    if service.database.writer.dialect.name not in {"mysql", "mariadb"}:
        assert answer.status_code == 200
        return
    assert answer.status_code == 409
    assert answer.json["errors"][0]["code"] == "placement.duplicate_name"
    assert f"providers[{len(listed)}].name: Conflicting resource provider name" in detail(answer)
    assert f"as {names[0]!r}: the database does not distinguish" in detail(answer)
    assert service.dump() == before


@pytest.mark.parametrize("kind", ["traits", "inventories"])
def test_the_number_of_statements_does_not_depend_on_the_number_of_new_names(
    service: Service, kind: str
) -> None:
    numbers = []
    for count in (2, 200):
        names = [f"CUSTOM_{kind.upper()}_{count}_{number}" for number in range(count)]
        value = stock(**dict.fromkeys(names, 1)) if kind == "inventories" else names
        uuid = str(uuids.UUID(int=10 + count))
        body = provider(uuid, uuid, None, **{kind: value})
        with counted(service.database) as statements:
            changes(put(service, body, path=uuid, create_names=True))
        numbers.append(len(statements))
        assert len(tree(service, uuid)[uuid][kind]) == count
    assert numbers[0] == numbers[1]


@pytest.mark.parametrize(
    ("names", "members", "text"),
    [
        (
            20_001,
            {},
            "providers: all together may have 20000 inventories, traits and aggregates, not 20001",
        ),
        (20_000, {}, None),
        (11, {"create_names": True}, "create_names: the request may contain 10 different custom"),
        (10, {"create_names": True}, None),
    ],
)
def test_a_tree_that_is_too_large_is_refused_before_the_first_statement(
    service: Service, monkeypatch: pytest.MonkeyPatch, names: int, members: Body, text: str | None
) -> None:
    monkeypatch.setattr("placement.api.operations.provider_trees.MAX_NEW_NAMES", 10)
    traits = [f"CUSTOM_{number}" for number in range(names)]
    listed = [
        root(traits=traits[::3]),
        provider(CHILD, "child", traits=traits[1::3]),
        provider(OTHER, "other", traits=traits[2::3]),
    ]
    with counted(service.database) as statements:
        answer = put(service, *listed, **members)
    if text is None:
        assert statements
        assert "may" not in answer.text
    else:
        assert answer.status_code == 400
        assert detail(answer).startswith(text)
        assert not statements


def test_prune_deletes_what_is_not_listed_before_its_name_is_taken(service: Service) -> None:
    put(
        service,
        root(),
        provider(CHILD, "child", inventories=stock(VCPU=4), traits=TRAITS, aggregates=AGGREGATES),
        provider(OTHER, "other", CHILD),
    )
    new = str(uuids.UUID(int=4))
    written = put(service, root(), provider(new, "child"), provider(OTHER, "o", new), prune=True)
    assert written.json["deleted"] == [CHILD]
    assert {uuid: each["name"] for uuid, each in tree(service).items()} == {
        ROOT: "root",
        new: "child",
        OTHER: "o",
    }


def test_without_prune_what_is_not_listed_stays(service: Service) -> None:
    put(service, root(), provider(CHILD, "child"))
    put(service, root(), provider(OTHER, "other", CHILD))
    assert tree(service).keys() == {ROOT, CHILD, OTHER}


def test_a_provider_in_use_is_neither_pruned_nor_emptied(service: Service) -> None:
    put(service, root(), provider(CHILD, "child", inventories=stock(VCPU=4)))
    claim = kit.claim({CHILD: {"VCPU": 1}})
    service.expect(204, "PUT", f"/allocations/{CONSUMER}", claim)
    before = service.dump()
    pruned = put(service, root(), prune=True)
    assert (pruned.status_code, detail(pruned).partition(":")[0]) == (409, "prune")
    assert pruned.json["errors"][0]["code"] == "placement.resource_provider.inuse"
    emptied = put(service, root(), provider(CHILD, "child", inventories={}))
    assert emptied.json["errors"][0]["code"] == "placement.inventory.inuse"
    assert detail(emptied).startswith("providers[1].inventories: ")
    assert service.dump() == before
    less = put(service, root(), provider(CHILD, "child", inventories=stock(VCPU=1)))
    assert changes(less)[CHILD] == (3, "updated")


@pytest.mark.parametrize(
    ("providers", "status", "path"),
    [
        ([root(generation=7)], 409, "providers[0].generation"),
        ([root(generation=None)], 409, "providers[0].generation"),
        ([root(), provider(OTHER, "o", generation=0)], 409, "providers[1].generation"),
        ([root(), provider(OTHER, "child")], 409, "providers[1].name"),
        ([root(), provider(OTHER, "elsewhere")], 409, "providers[1].name"),
        ([root(), provider(CHILD, "root")], 409, "providers[1].name"),
        ([root(), provider(str(uuids.UUID(int=9)), "x")], 409, "providers[1].uuid"),
        ([provider(ROOT, "root", CHILD)], 400, "providers[0].parent_provider_uuid"),
        ([root(), provider(CHILD, "c", None)], 400, "providers[1].parent_provider_uuid"),
        ([root(), provider(CHILD, "c", OTHER)], 400, "providers[1].parent_provider_uuid"),
        ([root(), provider(CHILD, "c", CHILD)], 400, "providers[1].parent_provider_uuid"),
        (
            [root(), provider(CHILD, "c", OTHER), provider(OTHER, "o", CHILD)],
            400,
            "providers[1].parent_provider_uuid",
        ),
        ([root(inventories=stock(CUSTOM_NO=1))], 400, "providers[0].inventories.CUSTOM_NO"),
        ([root(traits=["CUSTOM_NO"])], 400, "providers[0].traits[0]"),
        ([root(traits={"add": [TRAITS[0], "CUSTOM_NO"]})], 400, "providers[0].traits.add[1]"),
        ([root(traits={"add": TRAITS[:1], "remove": TRAITS[:1]})], 400, "providers[0].traits"),
        (
            [root(aggregates={"add": AGGREGATES[:1], "remove": [AGGREGATES[0].upper()]})],
            400,
            "providers[0].aggregates",
        ),
        ([root(), root()], 400, "providers[1].uuid"),
        ([provider(CHILD, "c")], 400, "providers"),
    ],
)
def test_what_is_wrong_is_refused_with_the_path_of_the_member(
    service: Service, providers: list[Body], status: int, path: str
) -> None:
    put(service, root(), provider(CHILD, "child"))
    elsewhere = str(uuids.UUID(int=9))
    service.expect(200, "POST", RP, {"name": "elsewhere", "uuid": elsewhere})
    before = service.dump()
    answer = put(service, *providers)
    assert (answer.status_code, detail(answer).partition(": ")[0]) == (status, path)
    assert service.dump() == before


@pytest.mark.parametrize(
    ("provider", "path"),
    [
        (root(inventories={"VCPU": {"total": 0}}), "providers[0].inventories.VCPU.total"),
        (root(inventories={"VCPU": {"total": 1, "used": 1}}), "providers[0].inventories.VCPU"),
        (root(traits={"remove": [1]}), "providers[0].traits.remove[0]"),
        (root(traits={"only": []}), "providers[0].traits"),
        (root(aggregates=["no uuid"]), "providers[0].aggregates[0]"),
        (root(generation="1"), "providers[0].generation"),
        ({**root(), "name": ""}, "providers[0].name"),
        ({**root(), "uuid": "root"}, "providers[0].uuid"),
        ({"uuid": ROOT, "name": "root"}, "providers[0]"),
    ],
)
def test_a_malformed_member_is_named(service: Service, provider: Body, path: str) -> None:
    answer = put(service, provider)
    assert answer.status_code == 400
    assert detail(answer).startswith(f"JSON does not validate: {path}: ")


def test_the_path_names_a_root(service: Service) -> None:
    put(service, root(), provider(CHILD, "child"))
    child = put(service, provider(CHILD, "child", None), path=CHILD)
    assert (child.status_code, ROOT in detail(child)) == (400, True)
    assert put(service, root(), path="root").status_code == 400
    for path in (CHILD, OTHER, "root"):
        service.expect(404, "GET", f"/provider_trees/{path}", version="2.0")
    service.expect(404, "GET", f"/provider_trees/{ROOT}", version="1.39")
    assert put(service, root(), path=ROOT.replace("-", "")).status_code == 200


def test_custom_names_are_created_where_the_caller_may(service: Service) -> None:
    new = root(inventories=stock(CUSTOM_B=1, CUSTOM_A=1), traits=["CUSTOM_C"])
    assert put(service, new).status_code == 400
    assert changes(put(service, new, create_names=True)) == {ROOT: (1, "created")}
    assert put(service, root(traits=["NO_CUSTOM"]), create_names=True).status_code == 400
    before = service.dump()
    assert changes(put(service, new, create_names=True)) == {ROOT: (1, "unchanged")}
    assert service.dump() == before


def test_creating_names_needs_their_rules(tmp_path: Path) -> None:
    rules = tmp_path / "policy.yaml"
    rules.write_text('"placement:traits:update": "role:nobody"\n')
    with Service(tmp_path, oslo_policy={"policy_file": str(rules)}) as service:
        service.expect(200, "PUT", f"/provider_trees/{ROOT}", {"providers": [root()]}, "2.0")
        classes = root(inventories=stock(CUSTOM_A=1))
        assert put(service, classes, create_names=True).status_code == 200
        refused = put(service, root(traits=["CUSTOM_T"]), create_names=True)
        assert refused.status_code == 403
        assert "placement:traits:update" in detail(refused)
        assert put(service, root(traits=TRAITS), create_names=True).status_code == 200


def test_the_number_of_statements_does_not_grow_with_the_tree(service: Service) -> None:
    def count(size: int, total: int) -> int:
        first = 1000 * size
        top = str(uuids.UUID(int=first))
        parts = {"inventories": stock(VCPU=total), "traits": TRAITS, "aggregates": AGGREGATES}
        below = [
            provider(str(uuids.UUID(int=first + n)), f"{first + n}", top, **parts)
            for n in range(1, size)
        ]
        with counted(service.database) as statements:
            written = put(service, provider(top, top, None, **parts), *below, path=top)
        assert written.status_code == 200
        return len(statements)

    count(2, 4)  # aggregates without a row are created once
    assert count(3, 4) == count(40, 4), "created"
    assert count(3, 4) == count(40, 4), "unchanged"
    assert count(3, 5) == count(40, 5), "updated"


# -- the same by single requests ----------------------------------------------------------------

UUIDS = [ROOT, CHILD, OTHER, *(str(uuids.UUID(int=number)) for number in (4, 5))]
parts = st.fixed_dictionaries(
    {},
    optional={
        "inventories": st.dictionaries(
            st.sampled_from(["VCPU", "DISK_GB"]),
            st.fixed_dictionaries({"total": st.integers(1, 3)}),
        ),
        "traits": st.lists(st.sampled_from(TRAITS), unique=True),
        "aggregates": st.lists(st.sampled_from(AGGREGATES), unique=True),
    },
)


@st.composite
def trees(draw: st.DrawFn) -> list[Body]:
    """Draw the list of a request: the root and some other providers, in any order."""
    below = draw(st.lists(st.sampled_from(UUIDS[1:]), unique=True))
    names = draw(st.permutations(range(len(below) + 1)))
    listed = [provider(ROOT, f"n{names[0]}", None, **draw(parts))]
    for position, uuid in enumerate(below):
        parent = draw(st.sampled_from([ROOT, *below[:position]]))
        listed.append(provider(uuid, f"n{names[position + 1]}", parent, **draw(parts)))
    return list(draw(st.permutations(listed)))


def write_singly(service: Service, listed: list[Body]) -> None:
    """Change a tree to match a list, with prune, using the requests of 1.39."""
    present = {each["uuid"]: each for each in _members(service)}
    wanted = {each["uuid"]: each for each in listed}
    for uuid in present:
        # Names are free, and providers children of the root, before anything else is done.
        parent = None if uuid == ROOT else ROOT
        body = {"name": f"temporary {uuid}", "parent_provider_uuid": parent}
        service.expect(200, "PUT", f"{RP}/{uuid}", body)
    for uuid in present.keys() - wanted.keys():
        service.expect(204, "DELETE", f"{RP}/{uuid}")
    for uuid in sorted(wanted.keys() - present.keys(), key=UUIDS.index):
        parent = None if uuid == ROOT else ROOT
        body = {"name": f"temporary {uuid}", "uuid": uuid, "parent_provider_uuid": parent}
        service.expect(200, "POST", RP, body)
    placed = [each for each in listed if each["uuid"] == ROOT]
    for each in placed:
        placed += [child for child in listed if child["parent_provider_uuid"] == each["uuid"]]
    for each in placed:
        body = {key: each[key] for key in ("name", "parent_provider_uuid")}
        service.expect(200, "PUT", f"{RP}/{each['uuid']}", body)
        for part in ("inventories", "traits", "aggregates"):
            if part in each:
                generation = service.get(f"{RP}/{each['uuid']}")["generation"]
                body = {part: each[part], "resource_provider_generation": generation}
                service.expect(200, "PUT", f"{RP}/{each['uuid']}/{part}", body)


def _members(service: Service) -> list[Body]:
    return list(service.get(f"{RP}?in_tree={ROOT}")["resource_providers"])


def content(service: Service) -> dict[str, tuple[Any, ...]]:
    """Return all data of the tree that requests of 1.39 return, without generations."""
    shown = {}
    for each in _members(service):
        parts = [
            service.get(f"{RP}/{each['uuid']}/{part}")[part]
            for part in ("inventories", "traits", "aggregates")
        ]
        traits, aggregates = map(sorted, parts[1:])
        shown[each["uuid"]] = (
            each["name"],
            each["parent_provider_uuid"],
            each["root_provider_uuid"],
            parts[0],
            traits,
            aggregates,
        )
    return shown


@settings(
    max_examples=share(40),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(steps=st.lists(trees(), min_size=2, max_size=4))
def test_a_whole_tree_is_what_single_requests_make_of_it(
    tmp_path_factory: pytest.TempPathFactory, steps: list[list[Body]]
) -> None:
    whole, singly = (Service(tmp_path_factory.mktemp(name)) for name in ("whole", "singly"))
    with whole, singly:
        for listed in steps:
            before = {each["uuid"]: each["generation"] for each in _members(whole)}
            shown = tree(whole) if before else {}
            written = changes(put(whole, *listed, prune=True))
            write_singly(singly, listed)
            after = content(whole)
            assert after == content(singly)
            now = {each["uuid"]: each for each in _members(whole)}
            for uuid, (generation, change) in written.items():
                assert now[uuid]["generation"] == generation
                assert (change == "created") == (uuid not in before)
                if change == "unchanged":
                    assert tree(whole)[uuid] == shown[uuid]
        whole.check_used()


# -- races --------------------------------------------------------------------------------------


def test_of_two_agents_with_one_generation_one_wins(service: Service) -> None:
    put(service, root(inventories=stock(VCPU=1)), provider(CHILD, "child"))

    def write(total: int) -> int:
        listed = root(generation=turn, inventories=stock(VCPU=total))
        traits = TRAITS[: 1 + total % 2]
        return put(service, listed, provider(CHILD, "child", traits=traits)).status_code

    with ThreadPoolExecutor(4) as pool:
        for turn in range(1, 9):
            totals = [10 * turn + n for n in range(4)]
            statuses = sorted(pool.map(write, totals))
            assert statuses == [200, 409, 409, 409]
            assert tree(service)[ROOT]["generation"] == turn + 1


def test_prune_beside_claims_loses_none(service: Service) -> None:
    child = provider(CHILD, "child", inventories=stock(VCPU=4))
    for turn in range(10):
        put(service, root(), child)
        consumer = str(uuids.UUID(int=500 + turn))
        body = kit.claim({CHILD: {"VCPU": 1}})
        with ThreadPoolExecutor(2) as pool:
            pruned = pool.submit(put, service, root(), prune=True)
            claimed = pool.submit(service.send, "PUT", f"/allocations/{consumer}", body)
            statuses = pruned.result().status_code, claimed.result().status_code
        assert statuses in {(200, 400), (409, 204)}
        held = service.get(f"/allocations/{consumer}")["allocations"]
        assert bool(held) == (statuses[1] == 204)
        service.expect(204 if held else 404, "DELETE", f"/allocations/{consumer}")


def test_agents_that_create_the_same_tree_get_one(service: Service) -> None:
    with ThreadPoolExecutor(4) as pool:
        for turn in range(5):
            uuid = str(uuids.UUID(int=700 + turn))
            listed = provider(uuid, f"host {turn}", None, inventories=stock(VCPU=4))
            answers = list(pool.map(lambda _, p=listed: put(service, p, path=p["uuid"]), range(4)))
            kinds = sorted(change for each in answers for _, change in changes(each).values())
            assert kinds == ["created", "unchanged", "unchanged", "unchanged"]
