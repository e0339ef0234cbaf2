"""A model of the writes of many clients, with which the state of a cloud is compared.

Each writer owns consumers, hosts and movable providers, whose state must be the state after the
last acknowledged write of this writer. All writers claim on the same hosts, and therefore share
their capacity, generations and roots.
"""

from __future__ import annotations

import random
import time
import uuid as uuids
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa

from tests.kit.processes import Answer, NoAnswerError, send
from tests.kit.service import inventories

Allocations = dict[str, dict[str, int]]  # provider -> class -> amount

CLASSES = ("VCPU", "MEMORY_MB", "DISK_GB")
STOCK = {"VCPU": 24, "MEMORY_MB": 40, "DISK_GB": 30}
# Writes by clients with complete knowledge of objects that only they change: these may fail for
# lack of room, but never because of concurrent writes.
RESTING = frozenset({"claim", "demand", "delete", "move"})

SETTLES = 1.0  # seconds after which a database has ended what a dead server had begun
PATIENCE = 300.0  # seconds to wait for a service to come back


class ViolationError(AssertionError):
    """The cloud does not match the acknowledged writes."""


@dataclass
class Shared:
    """The data that all writers share.

    hosts: roots with constant inventories. movable: providers of all writers. Each writer moves its
    own ones, with their descendants, below a host or below another writer's provider.
    """

    ports: Sequence[int]
    hosts: list[str] = field(default_factory=list)
    movable: list[str] = field(default_factory=list)
    operations: Counter[str] = field(default_factory=Counter)
    stop: bool = False


@dataclass
class Own:
    """The data that only one writer changes, in the state after its last acknowledged write.

    pair: two providers, parent and child, with an inventory that is reshaped from one to the
    other; holder: which of them has it. parents: movable provider -> parent.
    """

    consumers: dict[str, Allocations] = field(default_factory=dict)
    generations: dict[str, int] = field(default_factory=dict)
    totals: dict[str, int] = field(default_factory=dict)
    parents: dict[str, str | None] = field(default_factory=dict)
    pair: tuple[str, str] = ("", "")
    holder: int = 0
    reshaped: dict[str, int] = field(default_factory=dict)
    seen: dict[str, int] = field(default_factory=dict)


class Writer:
    """A client that sends operations and records their expected effects."""

    def __init__(self, shared: Shared, seed: int) -> None:
        self._shared = shared
        self._random = random.Random(seed)
        self._number = seed
        self.own = Own()
        self.recoveries: list[float] = []

    # -- sending ------------------------------------------------------------------------

    def _ask(self, method: str, path: str, body: object = None, version: str = "") -> Answer:
        return send(self._random.choice(self._shared.ports), method, path, body, version)

    def _read(self, path: str) -> Any:
        """Retry a read until the service is available again."""
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                answer = self._ask("GET", path)
            except NoAnswerError:
                answer = Answer(503, None)
            if answer.status == 200:
                return answer.body
            if answer.status != 503:
                raise ViolationError(f"GET {path}: {answer}")
            if time.monotonic() > deadline:
                raise ViolationError(f"no service for {PATIENCE} seconds")
            time.sleep(0.1)

    def _write(
        self,
        kind: str,
        request: tuple[str, str, object],
        happened: Callable[[], bool],
        version: str = "",
        refusals: frozenset[int] = frozenset({409}),
    ) -> bool:
        """Send a write, and return whether it was executed.

        The response determines the result; without a response, `happened` reads it.
        """
        method, path, body = request
        try:
            answer = self._ask(method, path, body, version)
        except NoAnswerError:
            answer = None
        if answer is None or (answer.status == 503 and "it is unknown whether" in answer.detail):
            self._shared.operations[f"{kind}: unknown"] += 1
            time.sleep(SETTLES)
            return happened()
        if answer.status < 300:
            self._shared.operations[f"{kind}: done"] += 1
            return True
        if answer.status == 503:
            self._shared.operations[f"{kind}: unavailable"] += 1
            time.sleep(0.1)
            return False
        if answer.status not in refusals or (kind in RESTING and "concurrent" in answer.code):
            raise ViolationError(f"{kind}: {method} {path} {body}: {answer}")
        self._shared.operations[f"{kind}: refused"] += 1
        return False

    def _generation(self, provider: str) -> int:
        found: int = self._read(f"/resource_providers/{provider}")["generation"]
        self._see(provider, found)
        return found

    def _see(self, thing: str, generation: int) -> None:
        if generation < self.own.seen.get(thing, 0):
            raise ViolationError(
                f"generation of {thing} went from {self.own.seen[thing]} to {generation}"
            )
        self.own.seen[thing] = generation

    # -- setting up ---------------------------------------------------------------------

    def settle_in(self) -> None:
        """Create the objects that this writer owns."""
        top = self._provider(None)
        self.own.pair = (top, self._provider(top))
        self._stock(top, {"VCPU": 16})
        for _ in range(2):
            movable = self._provider(None)
            self.own.parents[movable] = None
            self._shared.movable.append(movable)
        host = self._provider(None)
        self._stock(host, {"DISK_GB": 10})
        self.own.totals[host] = 10

    def _provider(self, parent: str | None) -> str:
        uuid = str(uuids.UUID(int=self._random.getrandbits(128), version=4))
        body = {"name": uuid, "uuid": uuid, "parent_provider_uuid": parent}
        answer = self._ask("POST", "/resource_providers", body)
        assert answer.status == 200, answer
        return uuid

    def _stock(self, provider: str, totals: Mapping[str, int]) -> None:
        records = {name: {"total": total} for name, total in totals.items()}
        body = {"resource_provider_generation": 0, "inventories": records}
        answer = self._ask("PUT", f"/resource_providers/{provider}/inventories", body)
        assert answer.status == 200, answer

    # -- operations ---------------------------------------------------------------------

    def act(self) -> None:
        """Execute one operation."""
        kinds = (self.claim, self.claim, self.claim, self.demand, self.demand, self.delete,
                 self.move, self.restock, self.reparent, self.reshape,
                 self.come_and_go)  # fmt: skip
        self._random.choice(kinds)()

    def _allocations(self) -> Allocations:
        hosts = self._random.sample(self._shared.hosts, self._random.randint(1, 2))
        return {
            host: {
                name: self._random.randint(1, 3)
                for name in self._random.sample(CLASSES, self._random.randint(1, 3))
            }
            for host in hosts
        }

    def _body(self, allocations: Allocations, generation: int | None) -> dict[str, object]:
        return {
            "allocations": {host: {"resources": found} for host, found in allocations.items()},
            "project_id": f"project-{self._random.randrange(4)}",
            "user_id": f"user-{self._random.randrange(4)}",
            "consumer_generation": generation,
            "consumer_type": "INSTANCE",
        }

    def _reads_as(self, consumer: str, allocations: Allocations) -> Callable[[], bool]:
        """Return whether a consumer has these allocations.

        Fail unless it has these or its previous ones.
        """

        def happened() -> bool:
            found = self.held(consumer)
            before = self.own.consumers.get(consumer, {})
            if found not in (allocations, before):
                raise ViolationError(f"{consumer} has {found}: neither {allocations} nor {before}")
            # A repeated write of the same allocations can only be distinguished by the generation.
            return found == allocations

        return happened

    def held(self, consumer: str) -> Allocations:
        """The allocations of a consumer, read through the API."""
        body = self._read(f"/allocations/{consumer}")
        found = {host: entry["resources"] for host, entry in body["allocations"].items()}
        if found:
            self._see(consumer, body["consumer_generation"])
            self.own.generations[consumer] = body["consumer_generation"]
        return found

    def _present(self, consumer: str) -> int:
        """Return the generation of an own consumer, which must have the expected allocations."""
        found = self.held(consumer)
        if found != self.own.consumers[consumer]:
            raise ViolationError(
                f"{consumer} has {found} instead of {self.own.consumers[consumer]}"
            )
        return self.own.generations[consumer]

    def _note(self, consumer: str, allocations: Allocations) -> None:
        if allocations:
            self.own.consumers[consumer] = allocations
        else:
            self.own.consumers.pop(consumer, None)
            self.own.seen.pop(consumer, None)  # it starts from scratch

    def _pick(self) -> str | None:
        free = [each for each in self.own.consumers if each not in self.own.reshaped]
        return self._random.choice(free) if free else None

    def claim(self) -> None:
        """Claim for a new consumer, or replace the allocations of an existing one."""
        consumer = self._pick() if self._random.random() < 0.4 else None
        generation: int | None = None
        if consumer is None:
            consumer = str(uuids.UUID(int=self._random.getrandbits(128), version=4))
        else:
            generation = self._present(consumer)
        wanted = self._allocations()
        body = self._body(wanted, generation)
        version = ""
        if self._random.random() < 0.2:  # a client that knows no generations
            version = "1.12"
            del body["consumer_generation"], body["consumer_type"]
        request = ("PUT", f"/allocations/{consumer}", body)
        if self._write("claim", request, self._reads_as(consumer, wanted), version):
            self._note(consumer, wanted)

    def demand(self) -> None:
        """Send a claim that searches, for one or two new consumers."""
        amounts = {"VCPU": self._random.randint(1, 3), "DISK_GB": self._random.randint(1, 3)}
        owner = self._body({}, None)
        del owner["allocations"]
        new = [
            str(uuids.UUID(int=self._random.getrandbits(128), version=4))
            for _ in range(self._random.randint(1, 2))
        ]
        claims = [
            {"request": {"groups": {"": {"resources": amounts}}}, "consumer_uuid": each, **owner}
            for each in new
        ]
        body = claims[0] if len(claims) == 1 else {"claims": claims}

        def happened() -> bool:
            number = sum(bool(self.held(each)) for each in new)
            if number not in {0, len(new)}:
                raise ViolationError(f"{number} of the claims of {new}")
            return number > 0

        if self._write("demand", ("POST", "/claims", body), happened, "2.0"):
            for each in new:
                held = self.held(each)
                sums: Counter[str] = Counter()
                for resources in held.values():
                    sums.update(resources)
                if sums != amounts:
                    raise ViolationError(f"{each} has {held} instead of {amounts}")
                self._note(each, held)

    def delete(self) -> None:
        """Delete the allocations of a consumer."""
        consumer = self._pick()
        if consumer is not None:
            request = ("DELETE", f"/allocations/{consumer}", None)
            if self._write("delete", request, self._reads_as(consumer, {}), refusals=frozenset()):
                self._note(consumer, {})

    def move(self) -> None:
        """Move the allocations of a consumer to a new consumer in one request."""
        old = self._pick()
        if old is None:
            return
        generation, wanted = self._present(old), self.own.consumers[old]
        new = str(uuids.UUID(int=self._random.getrandbits(128), version=4))
        body = {old: self._body({}, generation), new: self._body(wanted, None)}

        def happened() -> bool:
            moved = self._reads_as(old, {})()
            if self.held(new) != (wanted if moved else {}):
                raise ViolationError(f"half a move from {old} to {new}")
            return moved

        # It takes no more than there is: nothing may refuse it.
        if self._write("move", ("POST", "/allocations", body), happened, refusals=frozenset()):
            self._note(old, {})
            self._note(new, wanted)

    def restock(self) -> None:
        """Change an inventory of an own host."""
        (host,) = self.own.totals
        total = self._random.randint(5, 50)
        body = inventories(self._generation(host), DISK_GB=total)
        path = f"/resource_providers/{host}/inventories"

        def happened() -> bool:
            found = self._read(path)["inventories"]["DISK_GB"]["total"]
            if found not in (total, self.own.totals[host]):
                raise ViolationError(f"the total of {host} is {found}")
            return bool(found == total)

        if self._write("restock", ("PUT", path, body), happened):
            self.own.totals[host] = total

    def _place(self) -> str | None:
        return self._random.choice([None, *self._shared.hosts[:2], *self._shared.movable])

    def reparent(self) -> None:
        """Move an own provider to a different parent, unless the parent is below it."""
        provider = self._random.choice(sorted(self.own.parents))
        parent = self._place()
        path = f"/resource_providers/{provider}"

        def happened() -> bool:
            found = self._read(path)["parent_provider_uuid"]
            if found not in (parent, self.own.parents[provider]):
                raise ViolationError(f"the parent of {provider} is {found}")
            return bool(found == parent)

        body = {"name": provider, "parent_provider_uuid": parent}
        if self._write("reparent", ("PUT", path, body), happened, refusals=frozenset({400, 409})):
            self.own.parents[provider] = parent

    def reshape(self) -> None:
        """Move an inventory with all allocations on it from parent to child, or back.

        Before, it is given one more consumer now and then.
        """
        if len(self.own.reshaped) < 3:
            self._occupy()
        source, target = self.own.pair[self.own.holder], self.own.pair[1 - self.own.holder]
        allocations = {}
        for consumer, amount in self.own.reshaped.items():
            wanted = {target: {"VCPU": amount}}
            allocations[consumer] = self._body(wanted, self._present(consumer))
        body = {
            "inventories": {
                source: inventories(self._generation(source)),
                target: inventories(self._generation(target), VCPU=16),
            },
            "allocations": allocations,
        }

        def happened() -> bool:
            done = "VCPU" in self._read(f"/resource_providers/{target}/inventories")["inventories"]
            place = target if done else source
            for consumer, amount in self.own.reshaped.items():
                if self.held(consumer) != {place: {"VCPU": amount}}:
                    raise ViolationError(f"half a reshape: {consumer}")
            return done

        if self._write("reshape", ("POST", "/reshaper", body), happened):
            self.own.holder = 1 - self.own.holder
            for consumer, amount in self.own.reshaped.items():
                self.own.consumers[consumer] = {target: {"VCPU": amount}}

    def _occupy(self) -> None:
        consumer = str(uuids.UUID(int=self._random.getrandbits(128), version=4))
        amount = self._random.randint(1, 4)
        wanted = {self.own.pair[self.own.holder]: {"VCPU": amount}}
        request = ("PUT", f"/allocations/{consumer}", self._body(wanted, None))
        if self._write("claim", request, self._reads_as(consumer, wanted)):
            self.own.reshaped[consumer] = amount
            self._note(consumer, wanted)

    def come_and_go(self) -> None:
        """Create a provider at any position and delete it."""
        uuid = str(uuids.UUID(int=self._random.getrandbits(128), version=4))
        parent = self._place()
        body = {"name": uuid, "uuid": uuid, "parent_provider_uuid": parent}

        def there() -> bool:
            listed = self._read(f"/resource_providers?uuid={uuid}")["resource_providers"]
            return bool(listed)

        made = self._write("create", ("POST", "/resource_providers", body), there)
        while made:
            request = ("DELETE", f"/resource_providers/{uuid}", None)
            made = not self._write("remove", request, lambda: not there())

    # -- afterwards ---------------------------------------------------------------------

    def check(self) -> None:
        """Compare the responses of the API with the acknowledged writes."""
        for consumer in self.own.consumers:
            self._present(consumer)
        for host, total in self.own.totals.items():
            found = self._read(f"/resource_providers/{host}/inventories")["inventories"]
            if found["DISK_GB"]["total"] != total:
                raise ViolationError(f"{host} has {found} instead of {total}")
        for provider, parent in self.own.parents.items():
            found = self._read(f"/resource_providers/{provider}")["parent_provider_uuid"]
            if found != parent:
                raise ViolationError(f"{provider} is below {found} instead of {parent}")
        for place, provider in enumerate(self.own.pair):
            found = self._read(f"/resource_providers/{provider}/inventories")["inventories"]
            if bool(found) != (place == self.own.holder):
                raise ViolationError(f"{provider} has {found}")
        for thing in [*self._shared.hosts, *self.own.parents, *self.own.pair]:
            self._generation(thing)


class Model:
    """Writers on a separate cloud."""

    def __init__(self, ports: Sequence[int], seed: int, writers: int = 8, hosts: int = 6) -> None:
        """Create the cloud with the API."""
        self.shared = Shared(ports)
        builder = Writer(self.shared, seed * 1000)
        for _ in range(hosts):
            host = builder._provider(None)
            builder._stock(host, STOCK)
            self.shared.hosts.append(host)
        self.writers = [Writer(self.shared, seed * 1000 + n + 1) for n in range(writers)]
        for writer in self.writers:
            writer.settle_in()

    @property
    def operations(self) -> int:
        """The number of operations that have been sent."""
        return sum(self.shared.operations.values())

    def run(self, operations: int, meanwhile: Callable[[], None] | None = None) -> None:
        """Run every writer until a number of operations are done; raise their errors.

        `meanwhile` runs concurrently; the writers continue at least until it has finished.
        """
        goal = self.operations + operations
        disturbing = meanwhile is not None

        def live(writer: Writer) -> None:
            try:
                while not self.shared.stop and (self.operations < goal or disturbing):
                    writer.act()
            except BaseException:
                self.shared.stop = True
                raise

        with ThreadPoolExecutor(len(self.writers)) as pool:
            running = [pool.submit(live, writer) for writer in self.writers]
            try:
                if meanwhile is not None:
                    meanwhile()
            finally:
                disturbing = False
            for each in running:
                each.result()

    def check(self, database: str) -> None:
        """Raise ViolationError unless the cloud agrees with the responses to the writers."""
        for writer in self.writers:
            writer.check()
        engine = sa.create_engine(database, poolclass=sa.NullPool)
        with engine.connect() as conn:
            for complaint in complaints(conn, self.shared.hosts):
                raise ViolationError(complaint)
            listed = {row[0] for row in conn.exec_driver_sql("SELECT uuid FROM consumers")}
        known = {consumer for writer in self.writers for consumer in writer.own.consumers}
        if listed - known:
            raise ViolationError(f"consumers that nobody was told of: {sorted(listed - known)}")


# Each finds nothing in tables that are in order.
RULES = {
    "used is not the sum of the allocations": """
        SELECT i.id, i.used FROM inventories i LEFT JOIN allocations a
        ON a.resource_provider_id = i.resource_provider_id
        AND a.resource_class_id = i.resource_class_id
        GROUP BY i.id, i.used HAVING i.used <> COALESCE(SUM(a.used), 0)""",
    "an allocation has no inventory": """
        SELECT a.id FROM allocations a LEFT JOIN inventories i
        ON a.resource_provider_id = i.resource_provider_id
        AND a.resource_class_id = i.resource_class_id WHERE i.id IS NULL""",
    "a consumer has no allocations": """
        SELECT c.uuid FROM consumers c LEFT JOIN allocations a ON a.consumer_id = c.uuid
        WHERE a.id IS NULL""",
    "allocations have no consumer": """
        SELECT a.id FROM allocations a LEFT JOIN consumers c ON a.consumer_id = c.uuid
        WHERE c.id IS NULL""",
}


def complaints(conn: sa.Connection, hosts: Sequence[str]) -> Iterator[str]:
    """Report errors in the tables; no claim may have exceeded the capacity of the hosts."""
    for text, query in RULES.items():
        for row in conn.exec_driver_sql(query):
            yield f"{text}: {tuple(row)}"
    beyond = (
        "SELECT p.uuid, i.used, i.capacity FROM inventories i "
        "JOIN resource_providers p ON p.id = i.resource_provider_id WHERE i.used > i.capacity"
    )
    for uuid, used, capacity in conn.exec_driver_sql(beyond):
        if uuid in hosts:
            yield f"{uuid} has {used} of {capacity} in use"
    rows = conn.exec_driver_sql(
        "SELECT id, parent_provider_id, root_provider_id FROM resource_providers"
    ).all()
    parents = {row[0]: row[1] for row in rows}
    for provider, _parent, root in rows:
        top, steps = provider, 0
        while parents.get(top) is not None and steps < 100:
            top, steps = parents[top], steps + 1
        if top != root:
            yield f"the root of provider {provider} is {root}; above it is {top}"
