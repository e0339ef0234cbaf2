"""Clients whose turns are measured. They leave the cloud unchanged."""

from __future__ import annotations

import http.client
import json
import random
import threading
import time
import uuid as uuids
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Any

from falcon_placement_client import hosts
from falcon_placement_client.command_client import RestClient
from tests.kit.cloud import Cloud, provider_uuid
from tests.kit.processes import HEADERS, Answer, exchange, send

NEW = "2.0"
OF_NOVA = "1.36"  # at which nova requests candidates

# Function that does one turn. The caller measures the time of the function that it returns.
Turn = Callable[[], None]


class FaultError(Exception):
    """A server has responded with a 5xx status."""


class Client:
    """One client on one server.

    It takes up to `IN_A_ROW` turns in a row, untimed are a `prepare` for each before and `clean`
    after them.
    """

    IN_A_ROW = 20
    WARM_UP = 1  # turns on every worker that are not measured
    LEAST = 3  # rounds, regardless of their duration

    def __init__(self, port: int, cloud: Cloud, what: str, number: int) -> None:
        self._port = port
        self._cloud = cloud
        self._what = what
        self._random = random.Random(number)
        self._consumers: list[str] = []
        self._hosts: list[str] = []
        self.refused = 0
        self.answer_size = 0

    def _send(self, method: str, path: str, body: object = None, version: str = "") -> Answer:
        answer = send(self._port, method, path, body, version)
        if answer.status >= 500:
            raise FaultError(f"{method} {path}: {answer}")
        return answer

    def warm_up(self) -> None:
        """Do the turns that are not measured, on one worker."""
        for _ in range(self.WARM_UP):
            self.prepare()
            self.turn()
            self.clean()

    def prepare(self) -> None:
        """Prepare a turn."""

    def turn(self) -> None:
        raise NotImplementedError

    def clean(self) -> None:
        for consumer in self._consumers:
            self._send("DELETE", f"/allocations/{consumer}")
        self._consumers.clear()

    def _claim(self, allocations: dict[str, Any]) -> bool:
        consumer = str(uuids.uuid4())
        body = {
            "allocations": allocations, "project_id": "project", "user_id": "user",
            "consumer_generation": None, "consumer_type": "INSTANCE",
        }  # fmt: skip
        # On SQLite, the peer returns 500 to concurrent writers.
        answer = send(self._port, "PUT", f"/allocations/{consumer}", body)
        if answer.status == 204:
            self._consumers.append(consumer)
        else:
            self.refused += 1
        return answer.status == 204

    def _some_host(self) -> str:
        return provider_uuid(self._random.randint(1, self._cloud.hosts))


class Get(Client):
    """Reads one path."""

    VERSION = ""

    def turn(self) -> None:
        status, text = exchange(self._port, "GET", self._what, version=self.VERSION)
        assert status == 200, text


class GetOfNova(Get):
    """Reads one path at 1.36."""

    VERSION = OF_NOVA


class GetAtTwo(Get):
    """Reads one path at 2.0."""

    VERSION = "2.0"


class Find(Client):
    """Requests candidates with a body."""

    PATH = "/allocation_candidates"

    def turn(self) -> None:
        body = json.loads(self._what)
        status, text = exchange(self._port, "POST", self.PATH, body, "2.0")
        assert status == 200, text


class Simulate(Find):
    """Simulates changes of hosts."""

    PATH = "/simulations"


class DrainSomeHost(Client):
    """Simulates the drain of a host."""

    def turn(self) -> None:
        body = {"changes": [{"drain": [self._some_host()]}]}
        assert self._send("POST", "/simulations", body, NEW).body["complete"]


class DrainCheck(Client):
    """Simulates the drain of each host separately, like `placement-manage drain-check --all`."""

    IN_A_ROW = 1
    WARM_UP = 0
    LEAST = 1

    def turn(self) -> None:
        with closing(RestClient(f"http://127.0.0.1:{self._port}", "admin")) as api:
            rows = list(hosts.drain_check(api, hosts.find_hosts(api, None)))
        assert len(rows) == self._cloud.hosts
        assert all(row.evacuable for row in rows)


class Headroom(Find):
    """Measures how many more consumers of some requests fit."""

    PATH = "/headroom"


class Explain(Client):
    """Requests an explanation of why no host can serve a request."""

    def warm_up(self) -> None:
        # It reads trees, and of a large cloud not all before it reaches the limit on work.
        self._send("GET", self._what, version=NEW)
        super().warm_up()

    def turn(self) -> None:
        status, text = exchange(self._port, "GET", self._what, version="2.0")
        assert status == 200, text
        assert b'"served":0,"complete":true' in text, text


class GetChanged(GetAtTwo):
    """Reads a path after the first hosts of the cloud have changed."""

    IN_A_ROW = 1

    def __init__(self, port: int, cloud: Cloud, what: str, number: int) -> None:
        hosts, _, path = what.partition(" ")
        super().__init__(port, cloud, path, number)
        self._changed = int(hosts)

    def prepare(self) -> None:
        hosts = map(provider_uuid, range(1, self._changed + 1))
        assert self._claim({host: {"resources": {"VCPU": 1}} for host in hosts})


class Poll(Client):
    """At 2.0, requests a path that has not changed."""

    _tag = ""

    def prepare(self) -> None:
        if not self._tag:
            self._tag = self._ask({})[1]

    def turn(self) -> None:
        status, _tag = self._ask({"If-None-Match": self._tag})
        assert status == 304

    def _ask(self, headers: dict[str, str]) -> tuple[int, str]:
        connection = http.client.HTTPConnection("127.0.0.1", self._port)
        stated = {**HEADERS, "OpenStack-API-Version": f"placement {NEW}", **headers}
        connection.request("GET", self._what, headers=stated)
        answer = connection.getresponse()
        answer.read()
        connection.close()
        return answer.status, answer.getheader("ETag", "")


class Follow(Client):
    """Polls for changes when there are none."""

    CHANGED = 0  # hosts
    _path = ""

    def turn(self) -> None:
        if not self._path:  # the turns of a crowd are not prepared
            cursor = self._send("GET", "/changes", version=NEW).body["cursor"]
            self._path = f"/changes?since={cursor}"
        answer = self._send("GET", self._path, version=NEW)
        assert len(answer.body["changes"]) == self.CHANGED, answer


class FollowChanged(Follow):
    """Polls for changes of 1,000 hosts. The request numbers these changes."""

    IN_A_ROW = 1
    CHANGED = 1000
    DUE = 1.1  # seconds until the next request may number changes

    def prepare(self) -> None:
        time.sleep(self.DUE)
        cursor = self._send("GET", "/changes", version=NEW).body["cursor"]
        self._path = f"/changes?since={cursor}"
        hosts = map(provider_uuid, range(1, self.CHANGED + 1))
        assert self._claim({host: {"resources": {"VCPU": 1}} for host in hosts})
        time.sleep(self.DUE)


class Scrape(Client):
    """Reads the parts of every provider, with a separate request for each."""

    IN_A_ROW = 1

    def turn(self) -> None:
        for provider in self._send("GET", "/resource_providers").body["resource_providers"]:
            for part in self._what.split(","):
                path = f"/resource_providers/{provider['uuid']}/{part}"
                assert self._send("GET", path).status == 200


class Pages(Client):
    """Reads the parts of every provider at 2.0, in pages of 1,000."""

    IN_A_ROW = 1

    def turn(self) -> None:
        path, providers = f"/resource_providers?include={self._what}&limit=1000", 0
        while path:
            page = self._send("GET", path, version=NEW).body
            providers += len(page["resource_providers"])
            path = page["resource_providers_links"][0]["href"] if len(page) > 1 else ""
        assert providers == self._cloud.hosts


class Put(Client):
    """Claims for a new consumer on one of the hosts."""

    def turn(self) -> None:
        assert self._claim({self._some_host(): {"resources": {"VCPU": 1, "MEMORY_MB": 512}}})


class Delete(Put):
    """Releases a claim."""

    def prepare(self) -> None:
        super().turn()

    def turn(self) -> None:
        self._send("DELETE", f"/allocations/{self._consumers.pop()}")


class Schedule(Client):
    """Requests candidates at 1.36 and claims one of them, like nova's scheduler."""

    def turn(self) -> None:
        found = self._send("GET", self._what, version=OF_NOVA).body["allocation_requests"]
        self._claim(self._random.choice(found)["allocations"])


class Claim(Client):
    """Searches and claims in one request. The body contains no consumer."""

    def turn(self) -> None:
        consumer = str(uuids.uuid4())
        body = {
            **json.loads(self._what), "consumer_uuid": consumer, "project_id": "project",
            "user_id": "user", "consumer_type": "INSTANCE",
        }  # fmt: skip
        answer = self._send("POST", "/claims", body, "2.0")
        if answer.status == 201:
            self._consumers.append(consumer)
        else:
            self.refused += 1


class Update(Client):
    """Updates a host as nova-compute does periodically, when nothing of the host has changed."""

    def turn(self) -> None:
        host = self._some_host()
        assert self._send("GET", f"/resource_providers/{host}/allocations").status == 200


class UpdateChanged(Client):
    """Updates hosts as nova-compute does periodically, each with another inventory."""

    def __init__(self, port: int, cloud: Cloud, what: str, number: int) -> None:
        super().__init__(port, cloud, what, number)
        self._bodies: dict[str, Any] = {}

    def prepare(self) -> None:
        path = f"/resource_providers/{self._some_host()}"
        body = self._send("GET", f"{path}/inventories").body
        body["inventories"]["MEMORY_MB"]["reserved"] = self._random.randint(1, 4096)
        if path in self._bodies:
            self.prepare()
        self._bodies[path] = body

    def turn(self) -> None:
        path, body = self._bodies.popitem()
        assert self._send("GET", f"{path}/allocations").status == 200
        assert self._send("PUT", f"{path}/inventories", body).status == 200

    def clean(self) -> None:
        self._bodies.clear()


class Contend(Client):
    """Claims on one host, on which all clients claim.

    The host has enough memory for all claims, because a refused claim is cheaper.
    """

    def turn(self) -> None:
        self._claim({provider_uuid(1): {"resources": {"MEMORY_MB": 1}}})


class Share(Client):
    """Claims on one of the hosts, and on the shared disk on which all clients claim."""

    def turn(self) -> None:
        host, disk = self._some_host(), provider_uuid(self._cloud.hosts + 1)
        resources = {host: {"VCPU": 1, "MEMORY_MB": 512}, disk: {"DISK_GB": 1}}
        self._claim({uuid: {"resources": each} for uuid, each in resources.items()})


class Provision(Client):
    """Creates a host: provider, inventories, traits, aggregates."""

    def turn(self) -> None:
        uuid = str(uuids.uuid4())
        self._hosts.append(uuid)
        path = f"/resource_providers/{uuid}"
        self._send("POST", "/resource_providers", {"name": uuid, "uuid": uuid})
        records = {name: {"total": 64} for name in ("VCPU", "MEMORY_MB", "DISK_GB")}
        body: dict[str, object] = {"resource_provider_generation": 0, "inventories": records}
        self._send("PUT", f"{path}/inventories", body)
        traits = ["HW_CPU_X86_AVX", "HW_CPU_X86_AVX2", "HW_CPU_X86_SSE"]
        self._send("PUT", f"{path}/traits", {"resource_provider_generation": 1, "traits": traits})
        body = {"resource_provider_generation": 2, "aggregates": [str(uuids.UUID(int=1))]}
        assert self._send("PUT", f"{path}/aggregates", body).status == 200

    def clean(self) -> None:
        for uuid in self._hosts:
            self._send("DELETE", f"/resource_providers/{uuid}")
        self._hosts.clear()


class Reshape(Client):
    """Moves the VCPUs of a host with 100 consumers to a provider below it."""

    IN_A_ROW = 1

    def prepare(self) -> None:
        self._host, self._child = str(uuids.uuid4()), str(uuids.uuid4())
        for uuid, parent in ((self._host, None), (self._child, self._host)):
            body = {"name": uuid, "uuid": uuid, "parent_provider_uuid": parent}
            assert self._send("POST", "/resource_providers", body).status == 200
        self._stock(self._host, {"VCPU": {"total": 1000}, "MEMORY_MB": {"total": 1000}})
        consumers = {str(uuids.uuid4()): self._claim_on(self._host, None) for _ in range(100)}
        assert self._send("POST", "/allocations", consumers).status == 204
        self._consumers += consumers
        self._generation = {
            uuid: self._send("GET", f"/resource_providers/{uuid}").body["generation"]
            for uuid in (self._host, self._child)
        }

    def _stock(self, uuid: str, records: dict[str, Any]) -> None:
        body = {"resource_provider_generation": 0, "inventories": records}
        path = f"/resource_providers/{uuid}/inventories"
        assert self._send("PUT", path, body).status == 200

    def _claim_on(self, host: str, generation: int | None) -> dict[str, object]:
        split = {host: {"VCPU": 1}, self._host: {"MEMORY_MB": 1}}
        if host == self._host:
            split = {host: {"VCPU": 1, "MEMORY_MB": 1}}
        return {
            "allocations": {uuid: {"resources": each} for uuid, each in split.items()},
            "project_id": "project", "user_id": "user", "consumer_generation": generation,
            "consumer_type": "INSTANCE",
        }  # fmt: skip

    def turn(self) -> None:
        def reshaped(uuid: str, records: dict[str, Any]) -> dict[str, object]:
            generation = self._generation[uuid]
            return {"resource_provider_generation": generation, "inventories": records}

        body = {
            "inventories": {
                self._host: reshaped(self._host, {"MEMORY_MB": {"total": 1000}}),
                self._child: reshaped(self._child, {"VCPU": {"total": 1000}}),
            },
            "allocations": {each: self._claim_on(self._child, 1) for each in self._consumers},
        }
        answer = self._send("POST", "/reshaper", body)
        assert answer.status == 204, answer

    def clean(self) -> None:
        super().clean()
        for uuid in (self._child, self._host):
            self._send("DELETE", f"/resource_providers/{uuid}")


KINDS: dict[str, type[Client]] = {
    "poll": Poll, "follow": Follow, "follow changed": FollowChanged,
    "scrape": Scrape, "pages": Pages,
    "get": Get, "get at 1.36": GetOfNova, "get at 2.0": GetAtTwo, "get changed": GetChanged,
    "find": Find, "simulate": Simulate, "explain": Explain, "headroom": Headroom,
    "drain-check": DrainCheck, "drain some host": DrainSomeHost,
    "put": Put, "delete": Delete, "schedule": Schedule, "claim": Claim,
    "update": Update, "update changed": UpdateChanged,
    "contend": Contend, "share": Share, "provision": Provision, "reshape": Reshape,
}  # fmt: skip


def crowd(kind: str, port: int, cloud: Cloud, what: str, number: int) -> list[Client]:
    from bench.tree_clients import TREE_KINDS

    made = (KINDS | TREE_KINDS)[kind]
    return [made(port, cloud, what, each) for each in range(number)]


def all_at_once(turns: list[Turn]) -> None:
    """Run turns concurrently. Raise the first error of a turn."""
    failures: list[BaseException] = []

    def run(turn: Turn) -> None:
        try:
            turn()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=run, args=(turn,)) for turn in turns]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


@contextmanager
def working(clients: Sequence[Client]) -> Iterator[None]:
    """Run clients in threads during the block. Raise the first error."""
    ended = threading.Event()
    failures: list[BaseException] = []

    def work(client: Client) -> None:
        try:
            while not ended.is_set():
                client.turn()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(client,)) for client in clients]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        ended.set()
        for thread in threads:
            thread.join()
    if failures:
        raise failures[0]
