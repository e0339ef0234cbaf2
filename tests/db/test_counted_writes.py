"""Every write declares how many rows it matches, and detects if it has matched others.

A database may answer OK, 0 rows, to a statement that it has not carried out. Each write of each
scenario is answered so once: the request must be run again and come out as it does without.
"""

import importlib
import inspect
import pkgutil
import re
import typing
import uuid as uuids
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from placement.db import statements
from placement.db.engine import Database
from placement.db.statement import Write, Writes
from placement.objects import catalog, change_numbering, derived
from placement.operate import checks
from tests.kit.cloud import SHARING
from tests.kit.rows import damage
from tests.kit.service import ONE_BY_ONE, Service, inventories
from tests.kit.statements import text_of

MODULES = [
    importlib.import_module(f"{statements.__name__}.{found.name}")
    for found in pkgutil.iter_modules(statements.__path__)
]
FUNCTIONS = {
    f"{module.__name__.rpartition('.')[2]}.{name}": (module, name, function)
    for module in MODULES
    for name, function in inspect.getmembers(module, inspect.isfunction)
    if function.__module__ == module.__name__ and not name.startswith("_")
}
WRITES = {
    what
    for what, (_module, _name, function) in FUNCTIONS.items()
    if typing.get_type_hints(function)["return"] in {Write, Writes}
}
DML = re.compile(r"\s*(INSERT|UPDATE|DELETE)\b")
NOTHING = "UPDATE consumer_types SET name = name WHERE 1 = 0"


class Dropping(Service):
    """A service whose driver skips one write and reports that it matched no rows."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory, placement_database=ONE_BY_ONE)
        self._drop = -1
        self.written = 0
        self.transactions = 0
        writer = self.database.writer
        sa.event.listen(writer, "before_cursor_execute", self._execute, retval=True)
        sa.event.listen(writer, "begin", self._begin)

    def _begin(self, _conn: sa.Connection) -> None:
        self.transactions += 1

    def _execute(
        self, conn: sa.Connection, _cursor: Any, statement: str, params: Any, *_rest: Any
    ) -> tuple[str, Any]:
        text = text_of(conn, statement)
        if not DML.match(text):
            return statement, params
        self.written += 1
        if self.written - 1 != self._drop:
            return statement, params
        returning = " RETURNING id" if "RETURNING" in text else ""
        return NOTHING + returning, type(params)()

    @contextmanager
    def dropping(self, number: int) -> Iterator[None]:
        """Skip the write with this number, counted from now on. -1 skips none."""
        self.written = self.transactions = 0
        self._drop = number
        try:
            yield
        finally:
            self._drop = -1

    def make(self, method: str, path: str, body: object = None) -> Any:
        """Send a request that must succeed."""
        answer = self.send(method, path, body)
        assert answer.status_code < 300, answer.text
        return answer


@dataclass(frozen=True)
class Scene:
    """A host with a child, and names that are not used elsewhere in the database."""

    service: Dropping
    tag: str = field(default_factory=lambda: uuids.uuid4().hex[:8].upper())
    host: str = field(default_factory=lambda: str(uuids.uuid4()))
    child: str = field(default_factory=lambda: str(uuids.uuid4()))
    new: str = field(default_factory=lambda: str(uuids.uuid4()))
    below: str = field(default_factory=lambda: str(uuids.uuid4()))

    def prepare(self) -> None:
        """Create the host with four classes (two of them custom), a trait and an aggregate."""
        make = self.service.make
        for each in "AB":
            make("PUT", f"/traits/{self.custom(each)}")
            make("PUT", f"/resource_classes/{self.custom(each)}")
        for uuid, parent in ((self.host, None), (self.child, self.host)):
            body = {"name": uuid, "uuid": uuid, "parent_provider_uuid": parent}
            make("POST", "/resource_providers", body)
        make("PUT", f"{self.path}/inventories", inventories(0, VCPU=8, DISK_GB=8))
        traits = {"resource_provider_generation": 1, "traits": [self.custom("A")]}
        make("PUT", f"{self.path}/traits", traits)
        aggregates = {"resource_provider_generation": 2, "aggregates": [self.new]}
        make("PUT", f"{self.path}/aggregates", aggregates)

    def custom(self, which: str) -> str:
        return f"CUSTOM_{self.tag}_{which}"

    @property
    def path(self) -> str:
        return f"/resource_providers/{self.host}"

    def claim(self, generation: int | None, **amounts: int) -> dict[str, object]:
        owner = f"{self.tag}-{generation}"
        return {
            "allocations": {self.host: {"resources": amounts}},
            "project_id": owner,
            "user_id": owner,
            "consumer_generation": generation,
            "consumer_type": owner.replace("-", "_").upper(),
        }

    def demand(self, **amounts: int) -> dict[str, object]:
        claim = self.claim(None, **amounts)
        del claim["allocations"]
        group = {"resources": amounts, "in_tree": self.host}
        return {**claim, "request": {"groups": {"": group}}, "consumer_uuid": self.new}

    def share(self) -> None:
        """Create a provider that shares addresses with the host."""
        make, path = self.service.make, f"/resource_providers/{self.below}"
        make("POST", "/resource_providers", {"name": self.below, "uuid": self.below})
        make("PUT", f"{path}/inventories", inventories(0, IPV4_ADDRESS=8))
        make("PUT", f"{path}/traits", {"resource_provider_generation": 1, "traits": [SHARING]})
        aggregates = {"resource_provider_generation": 2, "aggregates": [self.new]}
        make("PUT", f"{path}/aggregates", aggregates)

    def shared_demand(self) -> dict[str, Any]:
        demand: dict[str, Any] = self.demand(VCPU=1)
        shared = {"resources": {"IPV4_ADDRESS": 1}, "in_tree": self.below}
        demand["request"]["groups"]["_SHARED"] = shared
        return demand

    def listed(
        self, uuid: str, parent: str | None, suffix: str = "", **parts: object
    ) -> dict[str, object]:
        """Return a provider in the form of requests for whole trees."""
        name = f"{uuid}{suffix}"
        return {"uuid": uuid, "name": name, "parent_provider_uuid": parent, **parts}

    def put_tree(self, *listed: dict[str, object]) -> Any:
        body = {"providers": listed, "prune": True}
        return self.service.send("PUT", f"/provider_trees/{self.host}", body, "2.0")

    def claimed(self) -> None:
        """Allocate resources to the consumer."""
        self.service.make("PUT", f"/allocations/{self.new}", self.claim(None, VCPU=1, DISK_GB=1))

    def held(self) -> None:
        """Make the consumer a hold in a spread group with a stored request."""
        body = {**self.demand(VCPU=1, DISK_GB=1), **TERMS, "spread_group": GROUP}
        assert self.service.send("POST", "/claims", body, "2.0").status_code == 201

    def look(self) -> str:
        """Return this data from the API, without names."""
        paths = [
            f"/resource_providers?in_tree={self.host}",
            *(f"{self.path}/{what}" for what in ("inventories", "traits", "aggregates", "usages")),
            f"/resource_providers/{self.child}",
            f"/resource_providers/{self.new}",
            f"/allocations/{self.new}",
            *(f"/traits/{self.custom(each)}" for each in "ABC"),
            *(f"/resource_classes/{self.custom(each)}" for each in "ABC"),
        ]
        answers = [self.service.send("GET", path) for path in paths]
        told = "\n".join(
            answer.text if answer.status_code == 200 else answer.status for answer in answers
        )
        names = {
            self.host: "HOST",
            self.child: "CHILD",
            self.new: "NEW",
            self.below: "BELOW",
            self.tag: "TAG",
        }
        for name, written in names.items():
            told = told.replace(name, written)
        return told


Act = Callable[[Scene], Any]


@dataclass(frozen=True)
class Scenario:
    """A request, the statements that it writes with, and what comes before it.

    otherwise: statements that it writes with where it begins again in another way.
    """

    writes: set[str]
    act: Act
    before: Callable[[Scene], object] = lambda _scene: None
    otherwise: frozenset[str] = frozenset()


def _request(method: str, path: str, body: Callable[[Scene], object] | None = None) -> Act:
    def act(scene: Scene) -> Any:
        where = path.format(scene=scene, A=scene.custom("A"), B=scene.custom("B"))
        version = "1.6" if "1.6" in where else "1.39"
        given = body(scene) if body else None
        return scene.service.send(method, where.removesuffix("@1.6"), given, version)

    return act


RENEW, BUMP = "locks.renew_revisions", "providers.bump_generations"
UNCHANGED = "locks.renew_and_bump"
CLAIM = {"locks.renew_where_seen", "allocations.create", "inventories.move_used"}

TERMS = {"expires_in": 600, "remember": True}
GROUP = {"name": "web", "max_per_host": 1}

SCENARIOS = {
    "a new root": Scenario(
        {"providers.create", "providers.set_root"},
        _request("POST", "/resource_providers", lambda it: {"name": it.new, "uuid": it.new}),
    ),
    "a new child": Scenario(
        {UNCHANGED, "providers.create"},
        _request(
            "POST",
            "/resource_providers",
            lambda it: {"name": it.new, "uuid": it.new, "parent_provider_uuid": it.host},
        ),
    ),
    "a provider becomes a root": Scenario(
        {UNCHANGED, RENEW, "providers.set_root", "provider_trees.rename", "provider_trees.move"},
        _request(
            "PUT",
            "/resource_providers/{scene.child}",
            lambda it: {"name": it.new, "parent_provider_uuid": None},
        ),
    ),
    "a provider goes with what it has": Scenario(
        {UNCHANGED, "providers.delete"},
        _request("DELETE", "{scene.path}"),
        before=_request("DELETE", "/resource_providers/{scene.child}"),
    ),
    "inventories come, change and go": Scenario(
        {UNCHANGED, "inventories.create", "inventories.update", "inventories.delete_unused"},
        _request("PUT", "{scene.path}/inventories", lambda it: inventories(3, VCPU=9, MEMORY_MB=9)),
    ),
    "inventories of a child come": Scenario(
        {UNCHANGED, BUMP, "inventories.create"},
        _request(
            "PUT",
            "/resource_providers/{scene.child}/inventories",
            lambda it: inventories(0, VGPU=9),
        ),
    ),
    "a whole tree changes": Scenario(
        {
            UNCHANGED,
            BUMP,
            "inventories.create",
            "inventories.create_unused",
            "associations.add",
            "associations.remove",
            "provider_trees.create",
            "provider_trees.move",
            "provider_trees.rename",
            "providers.delete",
        },
        lambda it: it.put_tree(
            it.listed(it.host, None, "renamed", traits=[it.custom("B")], aggregates=[]),
            it.listed(
                it.new,
                it.host,
                inventories={"VGPU": {"total": 1}},
                traits=[it.custom("A")],
                aggregates=[it.new],
            ),
            it.listed(it.below, it.new, inventories={"VGPU": {"total": 1}}),
        ),
        before=lambda it: it.put_tree(
            it.listed(it.host, None),
            it.listed(
                it.child,
                it.host,
                inventories={"VGPU": {"total": 4}},
                traits=[it.custom("A")],
                aggregates=[it.new],
            ),
            it.listed(it.below, it.child),
        ),
    ),
    "traits come and go": Scenario(
        {UNCHANGED, "associations.add", "associations.remove"},
        _request(
            "PUT",
            "{scene.path}/traits",
            lambda it: {"resource_provider_generation": 3, "traits": [it.custom("B")]},
        ),
    ),
    "aggregates come and go": Scenario(
        {
            UNCHANGED,
            "names.add_unless_present",
            "associations.add",
            "associations.remove",
        },
        _request(
            "PUT",
            "{scene.path}/aggregates",
            lambda it: {"resource_provider_generation": 3, "aggregates": [it.child]},
        ),
    ),
    "a new consumer": Scenario(
        {"names.add_unless_present", "allocations.create_consumers", *CLAIM},
        _request("PUT", "/allocations/{scene.new}", lambda it: it.claim(None, VCPU=1, DISK_GB=1)),
    ),
    "a new consumer's request is met": Scenario(
        {
            "names.add_unless_present",
            "allocations.create_consumers",
            "allocations.create",
            "inventories.take",
            UNCHANGED,
        },
        lambda it: it.service.send("POST", "/claims", it.demand(VCPU=1, DISK_GB=1), "2.0"),
        otherwise=frozenset(CLAIM),
    ),
    "a new consumer of a shared provider": Scenario(
        {
            "names.add_unless_present",
            "allocations.create_consumers",
            "allocations.create",
            "inventories.take",
            UNCHANGED,
        },
        lambda it: it.service.send("POST", "/claims", it.shared_demand(), "2.0"),
        before=Scene.share,
        otherwise=frozenset(CLAIM),
    ),
    "a consumer changes": Scenario(
        {
            "names.add_unless_present",
            "allocations.update_consumers",
            "allocations.delete",
            *CLAIM,
        },
        _request("PUT", "/allocations/{scene.new}", lambda it: it.claim(1, VCPU=2)),
        before=Scene.claimed,
    ),
    "a consumer goes": Scenario(
        {
            "allocations.delete_consumers",
            "allocations.delete",
            "locks.renew_where_seen",
            "inventories.move_used",
        },
        _request("DELETE", "/allocations/{scene.new}"),
        before=Scene.claimed,
    ),
    "a new hold": Scenario(
        {
            "names.add_unless_present",
            "allocations.create_consumers",
            "allocations.create",
            "claim_records.create",
            "inventories.take",
            UNCHANGED,
        },
        lambda it: it.service.send("POST", "/claims", {**it.demand(VCPU=1), **TERMS}, "2.0"),
        otherwise=frozenset(CLAIM),
    ),
    "a hold is extended": Scenario(
        {"claim_records.update"},
        lambda it: it.service.send("PUT", f"/holds/{it.new}", {"expires_in": 900}, "2.0"),
        before=Scene.held,
    ),
    "a hold is confirmed": Scenario(
        {"claim_records.clear_holds"},
        lambda it: it.service.send("PUT", f"/holds/{it.new}", {"expires_in": None}, "2.0"),
        before=Scene.held,
    ),
    "a hold is released": Scenario(
        {
            "allocations.delete_consumers",
            "allocations.delete",
            "claim_records.delete",
            "locks.renew_where_seen",
            "inventories.move_used",
        },
        lambda it: it.service.send("DELETE", f"/holds/{it.new}", None, "2.0"),
        before=Scene.held,
    ),
    "a request is remembered": Scenario(
        {"claim_records.update"},
        lambda it: it.service.send(
            "PUT", f"/consumers/{it.new}/request", it.demand(VCPU=1)["request"], "2.0"
        ),
        before=Scene.held,
    ),
    "a consumer joins a group": Scenario(
        {"claim_records.update"},
        lambda it: it.service.send(
            "PUT",
            f"/consumers/{it.new}/spread_group",
            {"name": "other", "max_per_host": 1},
            "2.0",
        ),
        before=Scene.held,
    ),
    "a member leaves its project": Scenario(
        {
            "names.add_unless_present",
            "allocations.update_consumers",
            "allocations.delete",
            "claim_records.leave_groups",
            *CLAIM,
        },
        _request("PUT", "/allocations/{scene.new}", lambda it: it.claim(1, VCPU=2)),
        before=Scene.held,
    ),
    "a new trait": Scenario({"names.add"}, _request("PUT", "/traits/{B}C")),
    "a trait goes": Scenario({"names.delete_unused"}, _request("DELETE", "/traits/{B}")),
    "a new class": Scenario({"names.add"}, _request("PUT", "/resource_classes/{B}C")),
    "a class gets another name": Scenario(
        {"names.rename_resource_class", RENEW},
        _request("PUT", "/resource_classes/{A}@1.6", lambda it: {"name": it.custom("C")}),
        before=lambda it: it.service.make(
            "PUT", f"{it.path}/inventories", inventories(3, **{it.custom("A"): 9})
        ),
    ),
    "a class goes": Scenario({"names.delete_unused"}, _request("DELETE", "/resource_classes/{B}")),
}


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dropping]:
    with Dropping(tmp_path_factory.mktemp("counted")) as made:
        yield made


@contextmanager
def noted() -> Iterator[set[str]]:
    """Collect the functions of `db.statements` that create writes."""
    called: set[str] = set()

    def noting(what: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def note(*args: Any, **kwargs: Any) -> Any:
            made = function(*args, **kwargs)
            if made != ():  # nothing was to be written
                called.add(what)
            return made

        return note

    with pytest.MonkeyPatch.context() as patch:
        for what in WRITES:
            module, name, function = FUNCTIONS[what]
            patch.setattr(module, name, noting(what, function))
        yield called


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_write_of_a_request_that_matches_nothing_is_noticed(service: Dropping, name: str) -> None:
    scenario = SCENARIOS[name]

    def play(dropped: int) -> str:
        scene = Scene(service)
        scene.prepare()
        scenario.before(scene)
        with service.dropping(dropped), noted() as called:
            answer = scenario.act(scene)
        if dropped < 0:
            assert called == scenario.writes
        assert called <= scenario.writes | scenario.otherwise
        assert answer.status_code < 300, answer.text
        return f"{answer.status_code}\n{scene.look()}"

    plain = play(-1)
    number = service.written
    assert service.transactions == 1
    for dropped in range(number):
        assert play(dropped) == plain, f"write {dropped} was missed"
        assert service.written > number, f"write {dropped} was not noticed"
        assert service.transactions == 2


Work = Callable[[Database], object]


def _once(work: Callable[[sa.Connection], object]) -> Work:
    """Return a function that runs the work in one transaction."""
    return lambda database: database.write(work)


@dataclass(frozen=True)
class Repair:
    """Writes of commands, and the damage that they repair."""

    writes: set[str]
    work: Work
    damage: Sequence[str]


HOST, CONSUMER, OTHER = (f"{number:08d}-0000-4000-8000-000000000000" for number in (1, 2, 3))
_CHANGE = "provider_id, uuid, revision, position"
_ALLOCATED = "INSERT INTO allocations (resource_provider_id, consumer_id, resource_class_id, used)"
REPAIRS = {
    "recount": Repair(
        {RENEW, "derived.set_column"},
        derived.heal,
        ["UPDATE inventories SET used = used + 1, capacity = capacity + 1"],
    ),
    "mend": Repair(
        {
            RENEW,
            "allocations.delete_consumers",
            "derived.set_column",
            "integrity.detach",
            "integrity.set_roots",
            "integrity.delete_lost",
            "integrity.record_consumers",
            "names.add_unless_present",
        },
        partial(checks.repair, consumer_owner=("incomplete-p", "incomplete-u")),
        [
            "DELETE FROM allocations",
            "DELETE FROM consumers",
            "DELETE FROM projects",
            "UPDATE inventories SET used = used + 1, capacity = capacity + 1",
            "UPDATE resource_providers SET parent_provider_id = 999, root_provider_id = NULL"
            " WHERE name = 'below'",
            "UPDATE resource_providers SET root_provider_id = NULL WHERE name = 'other'",
            "INSERT INTO inventories (resource_provider_id, resource_class_id, total, reserved,"
            " min_unit, max_unit, step_size, allocation_ratio) VALUES (999, 1, 1, 0, 1, 1, 1, 1)",
            f"{_ALLOCATED} VALUES (999, '{CONSUMER}', 1, 1)",
            f"{_ALLOCATED} SELECT id, '{CONSUMER}', 0, 1 FROM resource_providers"
            " WHERE name = 'host'",
            "INSERT INTO resource_provider_traits (resource_provider_id, trait_id) VALUES (999, 1)",
            "INSERT INTO resource_provider_aggregates (resource_provider_id, aggregate_id)"
            " VALUES (999, 1)",
            "INSERT INTO consumers (uuid, project_id, user_id, generation)"
            f" VALUES ('{HOST}', 1, 1, 1)",
        ],
    ),
    "changes are numbered for the first time": Repair(
        {
            "change_numbering.insert_feed",
            "change_numbering.delete_all",
            "change_numbering.insert_roots",
            "change_numbering.insert_batch",
            "change_numbering.update_feed",
        },
        _once(change_numbering.begin),
        [
            "DELETE FROM change_feed",
            "DELETE FROM change_batches",
            "DELETE FROM tree_changes",
            "INSERT INTO change_batches (position, token, numbered_at) VALUES (1, 1, 0)",
            f"INSERT INTO tree_changes ({_CHANGE}) VALUES (77, '{CONSUMER}', 1, 1)",
        ],
    ),
    "changes are numbered": Repair(
        {
            "change_numbering.delete_batches",
            "change_numbering.delete_known",
            "change_numbering.delete_tombstones",
            "change_numbering.insert_changed",
            "change_numbering.insert_deleted",
            "change_numbering.insert_batch",
            "change_numbering.update_feed",
        },
        _once(partial(change_numbering.number, max_age=60)),
        [
            "DELETE FROM change_feed",
            "DELETE FROM change_batches",
            "DELETE FROM tree_changes",
            "INSERT INTO change_feed VALUES (1, 9, 3, 0, 1)",
            "INSERT INTO change_batches (position, token, numbered_at) VALUES (3, 1, 0)",
            "INSERT INTO change_batches (position, token, numbered_at) VALUES (9, 3, 0)",
            # A deleted tree that exists again, a tree that is deleted, and one deleted long ago.
            f"INSERT INTO tree_changes ({_CHANGE}) VALUES (0, '{HOST}', 0, 9)",
            f"INSERT INTO tree_changes ({_CHANGE}) VALUES (77, '{CONSUMER}', 1, 9)",
            f"INSERT INTO tree_changes ({_CHANGE}) VALUES (0, 'old', 0, 3)",
        ],
    ),
    "catalogues": Repair(
        {"names.add", "names.change_id", "names.add_unless_present"},
        _once(catalog.sync),
        [
            "DELETE FROM resource_classes WHERE name IN ('VCPU', 'VGPU')",
            "DELETE FROM traits WHERE name = 'HW_CPU_X86_AVX'",
        ],
    ),
}


@pytest.mark.parametrize("name", REPAIRS)
def test_a_write_of_a_repair_that_matches_nothing_is_noticed(tmp_path: Path, name: str) -> None:
    repair = REPAIRS[name]
    service = Dropping(tmp_path)
    providers = ((HOST, "host", None), (CONSUMER, "below", HOST), (OTHER, "other", HOST))
    for uuid, title, parent in providers:
        body = {"name": title, "uuid": uuid, "parent_provider_uuid": parent}
        service.make("POST", "/resource_providers", body)
    service.make("PUT", f"/resource_providers/{HOST}/inventories", inventories(0, VCPU=8))

    def play(dropped: int) -> None:
        damage(service.database, repair.damage)
        with service.dropping(dropped):
            repair.work(service.database)
        assert _faults(service.database) == []

    with noted() as called:
        play(-1)
        number, transactions = service.written, service.transactions
    assert called == repair.writes
    for dropped in range(number):
        play(dropped)
        assert service.transactions == transactions + 1, f"write {dropped} was not noticed"


def _faults(database: Database) -> list[str]:
    with database.read() as conn:
        known = {row.name for row in conn.execute(sa.text("SELECT name FROM traits"))}
        assert known >= catalog.STANDARD_TRAITS
        number = conn.execute(sa.text("SELECT COUNT(*) FROM resource_classes WHERE id < 10000"))
        assert number.scalar_one() == len(catalog.STANDARD_CLASSES)
        return [found.name for found, _finding in checks.find_faults(conn)]


def test_every_statement_that_writes_says_how_many_rows_it_matches() -> None:
    written = [scenario.writes for scenario in SCENARIOS.values()]
    written += [repair.writes for repair in REPAIRS.values()]
    assert set[str]().union(*written) == WRITES
    for what, (_module, _name, function) in FUNCTIONS.items():
        made = typing.get_type_hints(function)["return"]
        kinds = {made, *typing.get_args(made)}
        assert not any(
            isinstance(kind, type) and issubclass(kind, (sa.UpdateBase, sa.TextClause))
            for kind in kinds
        ), f"{what} makes a write that says nothing"
