"""Clients that follow `GET /changes`, and writes of kinds that the model of writers lacks."""

from __future__ import annotations

import random
import threading
import time
import uuid as uuids
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import orjson

from tests.kit.processes import ANSWER, Answer, NoAnswerError, send

PARTS = "include=inventories,usages,traits,aggregates,allocations&limit=1000"
# Root -> the text of its tree.
Trees = Mapping[str, str]


def ask(ports: Sequence[int], path: str) -> Answer:
    """Send a GET to one of the servers until there is an answer other than 503."""
    deadline = time.monotonic() + ANSWER
    while True:
        try:
            answer = send(random.choice(ports), "GET", path, version="2.0")
            if answer.status != 503:
                return answer
        except NoAnswerError:
            answer = None
        assert time.monotonic() < deadline, answer
        time.sleep(0.05)


def trees(ports: Sequence[int], query: str = "") -> dict[str, str]:
    """Return what a fresh list shows."""
    path = f"/resource_providers?{PARTS}{query}"
    found: dict[str, list[Any]] = defaultdict(list)
    while True:
        body = ask(ports, path).body
        for provider in body["resource_providers"]:
            for part in ("traits", "aggregates"):
                provider[part] = sorted(provider[part])
            found[provider["root_provider_uuid"]].append(provider)
        if not body.get("resource_providers_links"):
            break
        path = f"/resource_providers?{PARTS}{query}&marker={provider['uuid']}"
    return {
        root: orjson.dumps(each, option=orjson.OPT_SORT_KEYS).decode()
        for root, each in found.items()
    }


class Follower:
    """A client that has taken a cursor, listed everything, and then reads what has changed.

    Each request goes to a server at random. The list of servers may change.
    """

    def __init__(self, ports: Sequence[int], seed: int) -> None:
        self._ports = ports
        self._random = random.Random(seed)
        self.counts: Counter[str] = Counter()
        self._list()

    def _list(self) -> None:
        self._cursor = ask(self._ports, "/changes").body["cursor"]
        self.trees = trees(self._ports)
        self._listed = time.monotonic()
        self._is_confirmed = False
        self.counts["listed"] += 1

    def step(self) -> bool:
        """Poll once; return whether there was nothing new."""
        polled = time.monotonic()
        limit = self._random.choice((1, 3, 1000))
        answer = ask(self._ports, f"/changes?limit={limit}&since={self._cursor}")
        if answer.status == 410:
            self._list()
            return False
        assert answer.status == 200, answer
        listed = [change["uuid"] for change in answer.body["changes"]]
        assert len(listed) == len(set(listed)) <= limit
        for change in answer.body["changes"]:
            uuid = change["uuid"]
            self.trees.pop(uuid, None)
            if not change["gone"]:
                present = trees(self._ports, f"&in_tree={uuid}")
                # It may be part of another tree by now, which has changed as well.
                if uuid in present:
                    self.trees[uuid] = present[uuid]
        self.counts["changes"] += len(listed)
        self._cursor = answer.body["cursor"]
        if not self._is_confirmed and polled - self._listed > 1 and answer.body["complete"]:
            # What was listed and deleted before it was numbered is in no response.
            self.trees = {root: self.trees[root] for root in self.trees.keys() & trees(self._ports)}
            self._is_confirmed = True
        return bool(self._is_confirmed and not listed and answer.body["complete"])


class Others:
    """Writes names, traits, aggregates and whole trees, in separate trees."""

    def __init__(self, ports: Sequence[int], seed: int) -> None:
        self._ports = ports
        self._random = random.Random(seed)
        self._roots = [str(uuids.UUID(int=self._random.getrandbits(128))) for _ in range(4)]
        self._child = str(uuids.UUID(int=self._random.getrandbits(128)))
        self.counts: Counter[str] = Counter()

    def act(self) -> None:
        """Send a write, which may be refused or lost."""
        choice, root = self._random.choice, self._random.choice(self._roots)
        path = f"/resource_providers/{root}"
        kind = choice(("tree", "name", "traits", "aggregates", "delete", "move", "pruned"))
        port = choice(self._ports)
        try:
            if kind in {"tree", "pruned"}:
                name = f"{root}-{self._random.randrange(3)}"
                listed: list[dict[str, Any]] = [
                    {"uuid": root, "name": name, "parent_provider_uuid": None}
                ]
                listed[0]["inventories"] = {"VCPU": {"total": self._random.randrange(1, 9)}}
                body: dict[str, Any] = {"providers": listed, "prune": kind == "pruned"}
                answer = send(port, "PUT", f"/provider_trees/{root}", body, "2.0")
            elif kind == "name":
                answer = send(port, "PUT", path, {"name": str(uuids.uuid4())}, "1.36")
            elif kind == "move":
                parent = choice((None, *self._roots))
                body = {"name": self._child, "uuid": self._child, "parent_provider_uuid": parent}
                answer = send(port, "POST", "/resource_providers", body)
                if answer.status == 409:
                    del body["uuid"]
                    answer = send(port, "PUT", f"/resource_providers/{self._child}", body)
            elif kind == "delete":
                answer = send(port, "DELETE", choice((path, f"/resource_providers/{self._child}")))
            else:
                shown = send(port, "GET", path)
                state = {
                    "resource_provider_generation": shown.body.get("generation", 0),
                    "traits": [choice(("HW_CPU_X86_AVX", "HW_CPU_X86_AVX2"))],
                    "aggregates": [str(uuids.UUID(int=self._random.randrange(5)))],
                }
                body = {name: state[name] for name in ("resource_provider_generation", kind)}
                answer = send(port, "PUT", f"{path}/{kind}", body)
        except NoAnswerError:
            self.counts["lost"] += 1
            return
        assert answer.status != 500, answer
        self.counts[f"{kind} {answer.status}"] += 1


@contextmanager
def following(
    ports: Sequence[int], seed: int, number: int = 2, pause: float = 0.02
) -> Iterator[list[Follower]]:
    """Follow the changes during the block, while other writes go on as well.

    Afterwards the followers have what a fresh list shows.

    Args:
        ports: the servers.
        seed: determines the writes and the sizes of reads.
        number: how many followers there are.
        pause: seconds between two steps of a follower, and between two other writes.
    """
    followers = [Follower(ports, seed + each) for each in range(number)]
    others = Others(ports, seed)
    stop = threading.Event()
    errors: list[BaseException] = []

    def live(act: Any) -> None:
        try:
            while not stop.is_set():
                act()
                time.sleep(pause)
        except BaseException as error:
            errors.append(error)

    acts = [others.act, *(follower.step for follower in followers)]
    threads = [threading.Thread(target=live, args=(act,)) for act in acts]
    for thread in threads:
        thread.start()
    try:
        yield followers
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    if errors:
        raise errors[0]
    with ThreadPoolExecutor(number) as pool:
        for _ in pool.map(settle, followers):
            pass
    fresh = trees(ports)
    for follower in followers:
        assert follower.trees == fresh, differences(follower.trees, fresh)
    assert sum(others.counts.values())


def settle(follower: Follower) -> None:
    """Follow for so long that everything written before has been numbered."""
    until = time.monotonic() + 1.5  # numberings are a second apart
    while time.monotonic() < until or not follower.step():
        time.sleep(0.1)
        follower.step()


def differences(followed: Trees, fresh: Trees) -> str:
    """Return the first tree that differs."""
    for root in sorted(followed.keys() | fresh.keys()):
        if followed.get(root) != fresh.get(root):
            return f"{root}:\nfollowed {followed.get(root)}\nfresh    {fresh.get(root)}"
    return ""
