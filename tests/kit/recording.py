"""Clients that change the same consumers, inventories and trees, and record what they see."""

from __future__ import annotations

import http.client
import itertools
import random
import threading
import time
import uuid as uuids
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import orjson

from tests.kit.history import ABSENT, GONE, NEVER, SAME, History, Operation, Shown
from tests.kit.processes import Answer, NoAnswerError, connected, new_host, send
from tests.kit.service import claim, headers_at

CLIENTS = 10
TREES = 3
CAPACITY = 12  # of each node; clients claim up to MOST at once, so nodes are often full
MOST = 4
PATIENCE = 300.0  # seconds to wait for operations, and for a service to come back
PARTS = "include=inventories,usages,traits,aggregates,allocations&limit=9"
# Kind of operation -> how often it is chosen.
KINDS: Mapping[str, int] = {
    "claim": 5, "change": 4, "delete": 3, "move": 2, "swap": 2, "demand": 2, "restock": 3,
    "label": 3, "show_consumer": 3, "show_page": 5, "show_tree": 2,
}  # fmt: skip


class Times(NamedTuple):
    """A request with the times at which it was sent and answered."""

    # Number of the request.
    request: int
    # Time at which the request was sent.
    began: float
    # Time of the response. NEVER if it is unknown whether a write was executed. Equal to the
    # beginning if the request was refused.
    ended: float

    @property
    def is_refused(self) -> bool:
        """Whether the request was certainly not executed."""
        return self.began == self.ended


class Effect(NamedTuple):
    """What a write changes in a register."""

    # The version that the request states. None if it states none.
    replaces: float | None
    # The version that the write makes.
    version: float
    # The value that the write makes.
    value: Hashable


class Recorded:
    """A small cloud, the clients that use it, and their history.

    Each tree is a root, which has aggregates only, and a node below it with VCPU, which is claimed,
    and DISK_GB, whose total is a different number after each write.
    """

    def __init__(self, ports: Sequence[int], seed: int) -> None:
        self.ports = ports
        self.history = History()
        self.trees: dict[str, str] = {}  # root -> node
        self.consumers: list[str] = []
        self.numbers = itertools.count(2)
        self.requests = itertools.count(1)
        self.counts: Counter[str] = Counter()
        self.stop = threading.Event()
        self.clients = [Client(self, f"{seed} {number}") for number in range(CLIENTS)]
        for _ in range(TREES):
            root = new_host(ports[0])
            node = new_host(ports[0], root, VCPU=CAPACITY, DISK_GB=1)
            self.trees[root] = node
            self.history.capacities[node, "VCPU"] = CAPACITY
            self.record(f"inventory {node}", 0, 1, Times(0, 0.0, 0.0), writes=True)
            self.record(f"tree {root}", 0, ((), ()), Times(0, 0.0, 0.0), writes=True)

    def record(
        self,
        register: str,
        version: float,
        value: Hashable,
        times: Times,
        *,
        writes: bool = False,
        replaces: float | None = None,
    ) -> None:
        """Add an operation to the history."""
        self.history.operations.append(
            Operation(
                register, version, value, times.began, times.ended, writes, replaces, times.request
            )
        )

    def run(self, disturb: Callable[[Recorded], None]) -> None:
        """Run the clients until `disturb` has ended. Then read everything from each server."""

        def live(client: Client) -> None:
            try:
                while not self.stop.is_set():
                    client.act()
            except BaseException:
                self.stop.set()
                raise

        with ThreadPoolExecutor(CLIENTS) as pool:
            running = [pool.submit(live, client) for client in self.clients]
            try:
                disturb(self)
            finally:
                self.stop.set()
            for each in running:
                each.result()
        for port in self.ports:
            self.clients[0].show_everything(port)

    def wait_for_operations(self, number: int) -> None:
        """Wait until the clients have recorded more operations."""
        goal = len(self.history.operations) + number
        deadline = time.monotonic() + PATIENCE
        while len(self.history.operations) < goal and not self.stop.is_set():
            assert time.monotonic() < deadline, "the clients are stuck"
            time.sleep(0.02)


class Client:
    """A client that sends one request at a time, to any server."""

    def __init__(self, cloud: Recorded, seed: str) -> None:
        self._cloud = cloud
        self._random = random.Random(seed)
        self._port: int | None = None  # the only server to use, or None for all

    def act(self) -> None:
        """Do something."""
        (kind,) = self._random.choices(list(KINDS), list(KINDS.values()))
        getattr(self, f"_{kind}")()

    def show_everything(self, port: int) -> None:
        """Read all registers from one server, which must respond."""
        self._port = port
        reads: list[tuple[Callable[[str], Any], str]] = []
        reads += [(self._read_consumer, each) for each in dict.fromkeys(self._cloud.consumers)]
        reads += [(self._read_page, each) for each in self._cloud.trees]
        reads += [(self._read_tree, each) for each in self._cloud.trees]
        deadline = time.monotonic() + PATIENCE
        for read, name in reads:
            while read(name) is None:
                assert time.monotonic() < deadline, f"no answer about {name}"
                time.sleep(0.1)
        self._port = None

    # -- requests ---------------------------------------------------------------------------

    def _ask(
        self, method: str, path: str, body: object = None, version: str = ""
    ) -> tuple[Answer | None, Times]:
        """Return the answer of success, or None, and the times."""
        number = next(self._cloud.requests)
        port = self._port or self._random.choice(self._cloud.ports)
        kind = f"{method} /{path.split('/')[1].partition('?')[0]}"
        began = time.monotonic()
        try:
            answer = send(port, method, path, body, version)
        except NoAnswerError:
            self._cloud.counts[f"{kind}: no answer"] += 1
            time.sleep(0.05)
            return None, Times(number, began, NEVER)
        ended = time.monotonic()
        self._cloud.counts[f"{kind}: {answer.status}"] += 1
        if answer.status < 300:
            return answer, Times(number, began, ended)
        if answer.status == 503:
            time.sleep(0.05)
            if "it is unknown whether" in answer.detail:
                return None, Times(number, began, NEVER)
        elif answer.status not in {404, 409}:
            raise AssertionError(f"{method} {path} {body}: {answer}")
        return None, Times(number, began, began)

    def _write(
        self,
        request: tuple[str, str, object],
        effects: Mapping[str, Effect],
        version: str = "",
    ) -> tuple[Answer | None, Times]:
        """Send a write and record what it has changed, by register, unless it is refused."""
        answer, times = self._ask(*request, version)
        if not times.is_refused:
            for register, (replaces, made, value) in effects.items():
                self._cloud.record(register, made, value, times, writes=True, replaces=replaces)
        return answer, times

    def _create(self, consumer: str, *request: Any) -> None:
        """Send a write that creates a consumer, as `_write` does."""
        _answer, times = self._write(*request)
        if not times.is_refused:
            self._cloud.consumers.append(consumer)

    # -- consumers --------------------------------------------------------------------------

    def _new(self) -> tuple[str, dict[str, dict[str, int]]]:
        consumer = str(uuids.UUID(int=self._random.getrandbits(128), version=4))
        node = self._random.choice(list(self._cloud.trees.values()))
        return consumer, {node: {"VCPU": self._random.randint(1, MOST)}}

    def _known(self) -> tuple[str, int, dict[str, dict[str, int]]] | None:
        """Read any consumer; return its generation and allocations unless it has none."""
        if not self._cloud.consumers:
            return None
        # Mostly one of the latest consumers, because the earlier ones have been deleted.
        consumer = self._random.choice(self._cloud.consumers[-3 * CLIENTS :])
        body = self._read_consumer(consumer)
        if not body or not body["allocations"]:
            return None
        held = {uuid: each["resources"] for uuid, each in body["allocations"].items()}
        return consumer, body["consumer_generation"], held

    def _read_consumer(self, consumer: str) -> Any:
        answer, times = self._ask("GET", f"/allocations/{consumer}")
        if answer is None:
            return None
        held = {uuid: each["resources"] for uuid, each in answer.body["allocations"].items()}
        generation = answer.body["consumer_generation"] if held else 0
        self._cloud.record(f"consumer {consumer}", generation, value_of(held), times)
        return answer.body

    def _claim(self) -> None:
        consumer, wanted = self._new()
        request = ("PUT", f"/allocations/{consumer}", claim(wanted))
        self._create(consumer, request, {f"consumer {consumer}": Effect(0, 1, value_of(wanted))})

    def _demand(self) -> None:
        """Claim what a search in one tree finds."""
        consumer, wanted = self._new()
        ((node, resources),) = wanted.items()
        owner = claim({})
        body = {
            "request": {"groups": {"": {"resources": resources, "in_tree": node}}},
            "consumer_uuid": consumer,
            **{name: owner[name] for name in ("project_id", "user_id", "consumer_type")},
        }
        effects = {f"consumer {consumer}": Effect(0, 1, value_of(wanted))}
        self._create(consumer, ("POST", "/claims", body), effects, "2.0")

    def _change(self) -> None:
        known = self._known()
        if known is not None:
            consumer, generation, _held = known
            _, wanted = self._new()
            request = ("PUT", f"/allocations/{consumer}", claim(wanted, generation))
            effect = Effect(generation, generation + 1, value_of(wanted))
            self._write(request, {f"consumer {consumer}": effect})

    def _delete(self) -> None:
        known = self._known()
        if known is not None:
            request = ("DELETE", f"/allocations/{known[0]}", None)
            self._write(request, {f"consumer {known[0]}": Effect(None, GONE, ABSENT)})

    def _move(self) -> None:
        """Move the allocations of a consumer to a new one, in one request."""
        known = self._known()
        if known is None:
            return
        old, generation, held = known
        new, _ = self._new()
        body = {old: claim({}, generation), new: claim(held)}
        effects = {
            f"consumer {old}": Effect(generation, GONE, ABSENT),
            f"consumer {new}": Effect(0, 1, value_of(held)),
        }
        self._create(new, ("POST", "/allocations", body), effects)

    def _swap(self) -> None:
        """Exchange the allocations of two consumers, in one request."""
        one, other = self._known(), self._known()
        if one is None or other is None or one[0] == other[0]:
            return
        body, effects = {}, {}
        for (consumer, generation, _), (*_, held) in ((one, other), (other, one)):
            body[consumer] = claim(held, generation)
            effect = Effect(generation, generation + 1, value_of(held))
            effects[f"consumer {consumer}"] = effect
        self._write(("POST", "/allocations", body), effects)

    def _show_consumer(self) -> None:
        self._known()

    # -- providers --------------------------------------------------------------------------

    def _root(self) -> str:
        return self._random.choice(list(self._cloud.trees))

    def _restock(self) -> None:
        node = self._cloud.trees[self._root()]
        path, total = f"/resource_providers/{node}/inventories/DISK_GB", next(self._cloud.numbers)
        answer, times = self._ask("GET", path)
        if answer is None:
            return
        generation = answer.body["resource_provider_generation"]
        self._cloud.record(f"inventory {node}", generation, answer.body["total"], times)
        body = {"resource_provider_generation": generation, "total": total}
        effect = Effect(generation, generation + 1, total)
        self._write(("PUT", path, body), {f"inventory {node}": effect})

    def _label(self) -> None:
        """Give both providers of a tree the same new aggregate, in one request."""
        root = self._root()
        providers = self._read_tree(root)
        if not providers:
            return
        label = str(uuids.UUID(int=next(self._cloud.numbers)))
        parts = [
            {**{name: each[name] for name in ("uuid", "name", "parent_provider_uuid")},
             "aggregates": [label]}
            for each in providers
        ]  # fmt: skip
        generation = providers[0]["generation"]
        parts[0]["generation"] = generation
        request = ("PUT", f"/provider_trees/{root}", {"providers": parts})
        effect = Effect(generation, generation + 1, ((label,), (label,)))
        answer, times = self._write(request, {f"tree {root}": effect}, "2.0")
        if answer is not None:
            node = self._cloud.trees[root]
            made = answer.body["providers"][node]["generation"]
            self._cloud.record(f"inventory {node}", made, SAME, times, writes=True)

    def _show_tree(self) -> None:
        self._read_tree(self._root())

    def _read_tree(self, root: str) -> Any:
        answer, times = self._ask("GET", f"/provider_trees/{root}", version="2.0")
        if answer is None:
            return None
        providers = answer.body["providers"]
        if "changing" in answer.body:
            self._cloud.counts["changing trees"] += 1
        else:
            labels = tuple(tuple(each["aggregates"]) for each in providers)
            self._cloud.record(f"tree {root}", providers[0]["generation"], labels, times)
            for provider in providers:
                self._record_inventory(provider, times)
        return providers

    def _show_page(self) -> None:
        self._read_page(self._root())

    def _read_page(self, root: str) -> Any:
        port = self._port or self._random.choice(self._cloud.ports)
        path = f"/resource_providers?in_tree={root}&{PARTS}"
        headers = {**headers_at("2.0"), "Connection": "close"}
        began = time.monotonic()
        try:
            with connected(port) as connection:
                connection.request("GET", path, None, headers)
                answer = connection.getresponse()
                text = answer.read()
        except (OSError, http.client.HTTPException):
            return None
        ended = time.monotonic()
        if answer.status == 503:
            return None
        assert answer.status == 200, text
        if answer.headers["ETag"]:
            self._cloud.history.tagged.append((answer.headers["ETag"], text))
        for provider in orjson.loads(text)["resource_providers"]:
            # The providers of a page may be of different moments, as if each were a request.
            self._record_provider(provider, Times(next(self._cloud.requests), began, ended))
        return True

    def _record_provider(self, provider: Mapping[str, Any], times: Times) -> None:
        uuid, changing = provider["uuid"], "changing" in provider
        self._cloud.counts["changing providers"] += changing
        allocations = {
            consumer: (each["consumer_generation"], frozenset(each["resources"].items()))
            for consumer, each in provider["allocations"].items()
        }
        shown = Shown(
            uuid, times.began, times.ended, provider["usages"], allocations, changing, times.request
        )
        self._cloud.history.shown.append(shown)
        if not changing:
            self._record_inventory(provider, times)

    def _record_inventory(self, provider: Mapping[str, Any], times: Times) -> None:
        if "DISK_GB" in provider["inventories"]:
            register = f"inventory {provider['uuid']}"
            total = provider["inventories"]["DISK_GB"]["total"]
            self._cloud.record(register, provider["generation"], total, times)


def value_of(allocations: Mapping[str, Mapping[str, int]]) -> Hashable:
    """Return allocations as the value of a register."""
    triples = [
        (uuid, name, amount)
        for uuid, resources in allocations.items()
        for name, amount in resources.items()
    ]
    return frozenset(triples) or ABSENT
