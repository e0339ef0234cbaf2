"""The requests of `bench.instructions`, as a program that runs in either checkout."""

from __future__ import annotations

import argparse
import ctypes
import gc
import json
import os
import random
import struct
import sys
import uuid as uuids
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from falcon.testing import create_environ

from bench.bodies import BOTH, DRAIN, FOUR_GROUPS, SORTED
from bench.clouds import flat, nested, sharing, to_drain
from bench.scenarios import FLAT
from placement import config
from placement.db.engine import Database
from placement.entry import app
from tests.kit import builders
from tests.kit.cloud import Cloud, load, provider_uuid
from tests.kit.service import HEADERS, claim, headers_at, inventories

PERF_EVENT_OPEN = 298  # number of the system call, on x86-64
ATTRIBUTES = 128  # bytes
TYPE_HARDWARE, INSTRUCTIONS = 0, 1
EXCLUDE_KERNEL_AND_HYPERVISOR = 1 << 5 | 1 << 6
BLOCKS = 3  # requests in a block; the block with the lowest count is used
CONSUMERS = 100  # of a reshape

Environ = dict[str, Any]


class Turn(NamedTuple):
    """A measured request, and the requests before and after it, which are not measured."""

    request: Environ
    # Requests sent before each measurement.
    before: Sequence[Environ] = ()
    # Requests sent after each measurement.
    after: Sequence[Environ] = ()


class Instructions:
    """Counts the instructions of a thread, starting with the creation of the object."""

    def __init__(self, thread: int = 0) -> None:
        """Count a thread. 0 selects the current thread. Raises OSError without permission."""
        attributes = struct.pack(
            "IIQQQQQ", TYPE_HARDWARE, ATTRIBUTES, INSTRUCTIONS, 0, 0, 0,
            EXCLUDE_KERNEL_AND_HYPERVISOR,
        ).ljust(ATTRIBUTES, b"\0")  # fmt: skip
        libc = ctypes.CDLL(None, use_errno=True)
        self._file = libc.syscall(PERF_EVENT_OPEN, attributes, thread, -1, -1, 0)
        if self._file < 0:
            raise OSError(ctypes.get_errno(), "instructions cannot be counted here")

    def close(self) -> None:
        os.close(self._file)

    def so_far(self) -> int:
        return int.from_bytes(os.read(self._file, 8), sys.byteorder)


class Service:
    """The application as it is served, with one request after the other."""

    def __init__(self, directory: Path, cloud: Cloud, *, metrics: bool) -> None:
        """Serve the cloud in a file of the directory."""
        path = directory / f"{cloud.name}.sqlite3"
        url, is_new = f"sqlite:///{path}", not path.exists()
        settings = builders.settings(url)
        if is_new:
            builders.prepare(url)
        database = Database(settings.database)
        if is_new:
            load(database.writer, cloud)
            app.prepare(database, sync=True)
        settings.conf.set_override("log_file", f"{directory}/log")
        config.setup_logging(settings.conf)
        options: dict[str, Any] = {}
        if metrics:
            from placement.metrics import Metrics

            counting = Metrics(replace(settings.metrics, directory=f"{directory}/metrics"))
            counting.listen()
            options = {"metrics": counting}
        self._application = app.create_app(settings, database, **options)
        self._instructions = Instructions()

    def block(self, turns: Iterator[Turn], number: int) -> int:
        """Run turns. Return the instructions of the measured requests."""
        spent = 0
        gc.collect()
        gc.disable()  # the time of a collection depends on earlier work
        for _ in range(number):
            turn = next(turns)
            for environ in turn.before:
                self.ask(environ)
            spent += self.ask(turn.request)
            for environ in turn.after:
                self.ask(environ)
        gc.enable()
        return spent

    def ask(self, environ: Environ) -> int:
        """Send one request. Return the number of instructions until the log line is written."""
        statuses: list[str] = []

        def start(status: str, *_: Any) -> Any:
            statuses.append(status)

        before = self._instructions.so_far()
        body = self._application(environ, start)
        for _ in body:
            pass
        with suppress(AttributeError):  # lists do not have to be closed
            body.close()  # type: ignore[attr-defined]
        spent = self._instructions.so_far() - before
        assert statuses[0].startswith("2"), (statuses, environ["PATH_INFO"])
        return spent


def request(method: str, path: str, body: object = None) -> Environ:
    """Return a request in the form in which servers pass it."""
    path, _, query = path.partition("?")
    text = "" if body is None else json.dumps(body)
    headers = {**HEADERS, "Content-Type": "application/json"} if text else HEADERS
    return create_environ(path, query, method=method, headers=headers, body=text)


def get(path: str) -> Iterator[Turn]:
    while True:
        yield Turn(request("GET", path))


def post(path: str, body: object) -> Iterator[Turn]:
    headers = {**headers_at("2.0"), "Content-Type": "application/json"}
    while True:
        yield Turn(create_environ(path, method="POST", headers=headers, body=json.dumps(body)))


def one_provider(hosts: int) -> Iterator[Turn]:
    while True:
        yield Turn(request("GET", f"/resource_providers/{_some_host(hosts)}"))


def put(hosts: int) -> Iterator[Turn]:
    while True:
        path, body = _claim(hosts)
        yield Turn(request("PUT", path, body), after=[request("DELETE", path)])


def delete(hosts: int) -> Iterator[Turn]:
    while True:
        path, body = _claim(hosts)
        yield Turn(request("DELETE", path), before=[request("PUT", path, body)])


def new_host(part: str) -> Iterator[Turn]:
    """Yield turns that send one of the writes that create a host.

    The other writes are not measured.
    """
    while True:
        host = str(uuids.uuid4())
        path = f"/resource_providers/{host}"
        traits = ["HW_CPU_X86_AVX", "HW_CPU_X86_AVX2", "HW_CPU_X86_SSE"]
        in_aggregate = {"aggregates": [str(uuids.UUID(int=1))]}
        writes = {
            "": request("POST", "/resource_providers", {"name": host, "uuid": host}),
            "inventories": request(
                "PUT", f"{path}/inventories", inventories(0, VCPU=64, MEMORY_MB=64, DISK_GB=64)
            ),
            "traits": request(
                "PUT", f"{path}/traits", {"resource_provider_generation": 1, "traits": traits}
            ),
            "aggregates": request(
                "PUT", f"{path}/aggregates", {"resource_provider_generation": 2, **in_aggregate}
            ),
        }
        place = list(writes).index(part)
        in_order = list(writes.values())
        yield Turn(
            in_order[place],
            before=in_order[:place],
            after=[*in_order[place + 1 :], request("DELETE", path)],
        )


def reshape(_hosts: int) -> Iterator[Turn]:
    """Yield turns that move allocations of consumers to a provider below their host."""
    while True:
        host, child = str(uuids.uuid4()), str(uuids.uuid4())
        consumers = [str(uuids.uuid4()) for _ in range(CONSUMERS)]
        body = {
            "inventories": {
                host: inventories(2, MEMORY_MB=1000),
                child: inventories(0, VCPU=1000),
            },
            "allocations": {
                each: claim({host: {"MEMORY_MB": 1}, child: {"VCPU": 1}}, 1) for each in consumers
            },
        }
        stock = inventories(0, VCPU=1000, MEMORY_MB=1000)
        claims = {each: claim({host: {"VCPU": 1, "MEMORY_MB": 1}}) for each in consumers}
        yield Turn(
            request("POST", "/reshaper", body),
            before=[
                request("POST", "/resource_providers", {"name": host, "uuid": host}),
                request(
                    "POST", "/resource_providers",
                    {"name": child, "uuid": child, "parent_provider_uuid": host},
                ),
                request("PUT", f"/resource_providers/{host}/inventories", stock),
                request("POST", "/allocations", claims),
            ],
            after=[
                *(request("DELETE", f"/allocations/{each}") for each in consumers),
                request("DELETE", f"/resource_providers/{child}"),
                request("DELETE", f"/resource_providers/{host}"),
            ],
        )  # fmt: skip


def _claim(hosts: int) -> tuple[str, dict[str, object]]:
    body = claim({_some_host(hosts): {"VCPU": 1, "MEMORY_MB": 512}})
    return f"/allocations/{uuids.uuid4()}", body


def _some_host(hosts: int) -> str:
    return provider_uuid(random.randint(1, hosts))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("data", type=Path)
    parser.add_argument("--hosts", type=int, required=True)
    parser.add_argument("--only", default="")
    parser.add_argument("--metrics", action="store_true")
    options = parser.parse_args()
    hosts = options.hosts
    rows: dict[Cloud, dict[str, tuple[int, Iterator[Turn]]]] = {
        flat(hosts): {
            "GET /": (100, get("/")),
            "GET of one provider": (100, one_provider(hosts)),
            "list of providers": (4, get("/resource_providers")),
            "candidates, limit 10": (40, get(f"{FLAT}&limit=10")),
            "candidates, limit 1000": (8, get(f"{FLAT}&limit=1000")),
            "candidates, all": (2, get(FLAT)),
            "candidates, 3 match, limit 1000": (20, get(f"{FLAT}&required=CUSTOM_RARE&limit=1000")),
            "candidates, sorted, limit 10": (4, post("/allocation_candidates", SORTED)),
            "candidates, none match": (20, get(FLAT.replace("VCPU:2", "VCPU:2000"))),
            "PUT of allocations": (40, put(hosts)),
            "DELETE of allocations": (40, delete(hosts)),
            "host: POST of the provider": (40, new_host("")),
            "host: PUT of inventories": (40, new_host("inventories")),
            "host: PUT of traits": (40, new_host("traits")),
            "host: PUT of aggregates": (40, new_host("aggregates")),
            "POST /reshaper, 100 consumers": (4, reshape(hosts)),
        },
        to_drain(hosts): {"drain of a host of 40 consumers": (2, post("/simulations", DRAIN))},
        nested(min(hosts, 1000)): {
            "candidates, 4 groups, limit 10": (20, get(f"{FOUR_GROUPS}&limit=10")),
            "candidates, 4 groups, limit 1000": (4, get(f"{FOUR_GROUPS}&limit=1000")),
        },
        sharing(min(hosts, 1000)): {
            "candidates, sharing, limit 10": (20, get(f"{FLAT}&limit=10")),
            "candidates, sharing, limit 1000": (4, get(f"{FLAT}&limit=1000")),
            "candidates, sharing, all": (4, get(FLAT)),
            "candidates, sharing, nobody": (20, get(f"{FLAT}{BOTH}")),
        },
    }
    counts: dict[str, float] = {}
    for cloud, turns_by_row in rows.items():
        service = None
        for row, (number, turns) in turns_by_row.items():
            if not row.startswith(options.only):
                continue
            if service is None:
                service = Service(options.data, cloud, metrics=options.metrics)
            least = min(service.block(turns, number) for _ in range(BLOCKS + 1))
            counts[row] = least / number
    print(json.dumps(counts))


if __name__ == "__main__":
    main()
