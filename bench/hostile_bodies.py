"""What bodies cost that nobody needs: ``python -m bench.hostile_bodies [name …]``.

Each is sent to a service of its own, in a process of its own, without a socket. The table has
processor seconds and the memory at its peak beyond that of the body itself, also in sizes of
the body. ``python -m bench.hostile_bodies --legal`` times the checks of bodies that clients send.
"""

from __future__ import annotations

import io
import multiprocessing
import sys
import tempfile
import time
import timeit
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import orjson

LARGEST = 32 * 1024 * 1024  # bytes: the limit as shipped
MIB = 1024 * 1024
WAIT = 600  # seconds for one body

HOST = "10000000-0000-4000-8000-000000000001"
TRAITS = f"/resource_providers/{HOST}/traits"
AGGREGATES = f"/resource_providers/{HOST}/aggregates"
INVENTORIES = f"/resource_providers/{HOST}/inventories"
CONSUMER = "/allocations/c0000000-0000-4000-8000-000000000001"

Request = tuple[str, str, bytes]


def uuid(number: int) -> str:
    return f"{number:08x}-0000-4000-8000-000000000000"


def repeated(before: bytes, part: bytes, after: bytes) -> bytes:
    """As many parts, between the others, as make the largest body."""
    times = (LARGEST - len(before) - len(after)) // len(part)
    return before + part * (times - 1) + b"0" + after


def of_provider(member: str) -> tuple[bytes, bytes]:
    return b'{"resource_provider_generation":0,"%s":[' % member.encode(), b"]}"


def consumer(allocations: object = None, mappings: object = None) -> dict[str, Any]:
    return {
        "allocations": {HOST: {"resources": {"VCPU": 1}}} if allocations is None else allocations,
        "project_id": "p",
        "user_id": "u",
        "consumer_generation": None,
        "consumer_type": "INSTANCE",
        **({} if mappings is None else {"mappings": mappings}),
    }


def claiming(consumers: int) -> dict[str, Any]:
    """The consumers of a host, as nova has them: three classes each."""
    resources = {"VCPU": 1, "MEMORY_MB": 512, "DISK_GB": 10}
    return {uuid(number): consumer({HOST: {"resources": resources}}) for number in range(consumers)}


def reshape(consumers: int) -> dict[str, Any]:
    inventories = {
        uuid(number): {
            "resource_provider_generation": 0,
            "inventories": {name: {"total": 64} for name in ("VCPU", "MEMORY_MB", "DISK_GB")},
        }
        for number in range(8)
    }
    return {"inventories": inventories, "allocations": claiming(consumers)}


def wrong_at_the_end(value: dict[str, Any]) -> bytes:
    return orjson.dumps({**value, uuid(2**32 - 1): 1})


def hostile() -> dict[str, Callable[[], Request]]:
    """Name -> the request that carries the body."""
    traits, aggregates = of_provider("traits"), of_provider("aggregates")
    nested = b'{"a":' * 300 + b"1" + b"}" * 300
    whole = orjson.dumps(consumer(mappings={"": []}))
    return {
        "traits, 980 lists deep": lambda: (
            "PUT", TRAITS, traits[0] + b"[" * 980 + b"1" + b"]" * 980 + traits[1]),
        "aggregates, two objects 300 deep": lambda: (
            "PUT", AGGREGATES, aggregates[0] + nested + b"," + nested + aggregates[1]),
        "uuid of 30 million braces": lambda: (
            "POST", "/resource_providers", b'{"name":"x","uuid":"' + b"{" * 30_000_000 + b'"}'),
        "uuid of 32 MB of zeros": lambda: (
            "POST", "/resource_providers", b'{"name":"x","uuid":"' + b"0" * 32_000_000 + b'"}'),
        "6,000 mixed aggregates": lambda: (
            "PUT", AGGREGATES,
            aggregates[0] + orjson.dumps([*range(3000), *map(str, range(3000))])[1:-1]
            + aggregates[1]),
        "100,000 numbers for traits": lambda: (
            "PUT", TRAITS, traits[0] + orjson.dumps([*range(100_000)])[1:-1] + traits[1]),
        "mappings of 15 million integers": lambda: (
            "PUT", CONSUMER, whole.replace(b'"":[]', b'"a":[' + b"1," * 15_000_000 + b"1]")),
        "32 MB of empty lists": lambda: ("PUT", TRAITS, repeated(traits[0], b"[],", traits[1])),
        "32 MB of small objects": lambda: (
            "PUT", TRAITS, repeated(traits[0], b'{"":1},', traits[1])),
        "100,000 small objects": lambda: (
            "PUT", TRAITS, traits[0] + b'{"":1},' * 99_000 + b"1" + traits[1]),
        "32 MB of short texts": lambda: ("PUT", TRAITS, repeated(traits[0], b'"ab",', traits[1])),
        "32 MB of opening brackets": lambda: ("PUT", TRAITS, b"[" * LARGEST),
        "32 MB of blanks": lambda: ("PUT", TRAITS, b" " * LARGEST),
        "32 MB of digits": lambda: ("PUT", TRAITS, b"1" * LARGEST),
        "32 MB of bytes that are no UTF-8": lambda: ("PUT", TRAITS, b'"' + b"\xff" * 32_000_000),
        "a name of 32 MB, one character wide": lambda: (
            "POST", "/resource_providers", repeated(b'{"name":"\xf0\x9f\x98\x80', b"\x7f", b'"}')),
        "a name of 5 million NULs": lambda: (
            "POST", "/resource_providers", repeated(b'{"name":"', b"\\u0000", b'"}')),
        "a key of 32 MB": lambda: (
            "PUT", INVENTORIES,
            repeated(b'{"resource_provider_generation":0,"inventories":{"', b"A", b'!":{}}}')),
        "a list of long texts for a name": lambda: (
            "POST", "/resource_providers",
            repeated(b'{"name":[', b'"' + "\U0001f600".encode() + b"\x7f" * 1000 + b'",', b"]}")),
        "long surplus keys": lambda: (
            "POST", "/resource_providers",
            b"{" + b",".join(b'"%06d%s":0' % (n, b"\x7f" * 240) for n in range(120_000)) + b"}"),
        "100,000 surplus keys": lambda: (
            "POST", "/resource_providers", orjson.dumps(dict.fromkeys(map(str, range(100_000))))),
        "100,000 unknown traits": lambda: (
            "PUT", TRAITS,
            orjson.dumps({
                "resource_provider_generation": 0,
                "traits": [f"CUSTOM_{number}" for number in range(100_000)],
            })),
        "10,000 unknown traits": lambda: (
            "PUT", TRAITS,
            orjson.dumps({
                "resource_provider_generation": 0,
                "traits": [f"CUSTOM_{number}" for number in range(10_000)],
            })),
        "aggregates, 800,000 alike at the end": lambda: (
            "PUT", AGGREGATES,
            aggregates[0]
            + b",".join(b'"%s"' % uuid(number).encode() for number in [*range(800_000), 0])
            + aggregates[1]),
        "aggregates, 10,000 alike at the end": lambda: (
            "PUT", AGGREGATES,
            aggregates[0]
            + b",".join(b'"%s"' % uuid(number).encode() for number in [*range(9_999), 0])
            + aggregates[1]),
        "100,000 unknown classes": lambda: (
            "PUT", INVENTORIES,
            orjson.dumps({
                "resource_provider_generation": 0,
                "inventories": {f"CUSTOM_{number}": {"total": 1} for number in range(100_000)},
            })),
        "10,000 unknown classes": lambda: (
            "PUT", INVENTORIES,
            orjson.dumps({
                "resource_provider_generation": 0,
                "inventories": {f"CUSTOM_{number}": {"total": 1} for number in range(10_000)},
            })),
        "allocations on 100,000 providers": lambda: (
            "PUT", CONSUMER,
            orjson.dumps(consumer({
                uuid(number): {"resources": {"VCPU": 1}} for number in range(100_000)
            }))),
        "allocations on 10,000 unknown providers": lambda: (
            "PUT", CONSUMER,
            orjson.dumps(consumer({
                uuid(number): {"resources": {"VCPU": 1}} for number in range(10_000)
            }))),
        "90,000 consumers, the last one wrong": lambda: (
            "POST", "/allocations", wrong_at_the_end(claiming(90_000))),
        "13,000 consumers, the last one wrong": lambda: (
            "POST", "/allocations", wrong_at_the_end(claiming(13_000))),
        "reshape of 90,000 consumers, unknown hosts": lambda: (
            "POST", "/reshaper", orjson.dumps(reshape(90_000))),
        "reshape of 13,000 consumers, unknown hosts": lambda: (
            "POST", "/reshaper", orjson.dumps(reshape(13_000))),
    }  # fmt: skip


def environ(request: Request) -> dict[str, Any]:
    method, path, body = request
    return {
        "REQUEST_METHOD": method, "PATH_INFO": path, "QUERY_STRING": "", "SCRIPT_NAME": "",
        "SERVER_NAME": "localhost", "SERVER_PORT": "80", "SERVER_PROTOCOL": "HTTP/1.1",
        "REMOTE_ADDR": "127.0.0.1", "HTTP_X_AUTH_TOKEN": "admin", "HTTP_X_ROLES": "admin,service",
        "HTTP_OPENSTACK_API_VERSION": "placement 1.39", "CONTENT_TYPE": "application/json",
        "CONTENT_LENGTH": str(len(body)), "wsgi.input": io.BytesIO(body),
        "wsgi.errors": io.StringIO(), "wsgi.url_scheme": "http",
    }  # fmt: skip


def resident(field: str) -> int:
    """Bytes: VmRSS, now; VmHWM, at the most since the peak was reset."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field):
            return int(line.split()[1]) * 1024
    raise LookupError(field)


def measure(name: str, answers: Any) -> None:
    """Put (size, status, processor seconds, bytes at the peak) of one body into the queue."""
    from tests.kit.builders import make_app

    with tempfile.TemporaryDirectory() as directory:
        application = make_app(Path(directory))
        first = environ(("POST", "/resource_providers", orjson.dumps({"name": "h", "uuid": HOST})))
        b"".join(application(first, lambda *started: None))  # type: ignore[arg-type]
        request = hostile()[name]()
        made = environ(request)
        statuses: list[str] = []
        Path("/proc/self/clear_refs").write_text("5")
        memory, seconds = resident("VmRSS"), time.process_time()
        b"".join(application(made, lambda status, *rest: statuses.append(status)))  # type: ignore[arg-type]
        seconds = time.process_time() - seconds
        answers.put((len(request[2]), statuses[0][:3], seconds, resident("VmHWM") - memory))


def costs(names: list[str]) -> Iterator[str]:
    """A line for each body."""
    yield f"{'body':45} {'MiB':>7} {'status':>6} {'s':>8} {'MiB peak':>9} {'sizes':>7}"
    context = multiprocessing.get_context("spawn")
    for name in names:
        answers: Any = context.Queue()
        process = context.Process(target=measure, args=(name, answers))
        process.start()
        try:
            size, status, seconds, memory = answers.get(timeout=WAIT)
            figures = f"{seconds:8.3f} {memory / MIB:9.1f} {memory / size:7.1f}"
            yield f"{name:45} {size / MIB:7.2f} {status:>6} {figures}"
        except Exception as error:  # it was killed, or ran out of time
            yield f"{name:45} {type(error).__name__} after {WAIT} s"
        finally:
            process.kill()
            process.join()


def legal() -> Iterator[str]:
    """A line for each body that clients send: what reading and checking it takes."""
    from placement.api import json_body
    from placement.api.history import LATEST
    from placement.api.request_schemas import allocations, inventories, reshaper

    claim = consumer({HOST: {"resources": {"VCPU": 1, "MEMORY_MB": 512, "DISK_GB": 10}}})
    stock = {
        "resource_provider_generation": 1,
        "inventories": {
            name: {"total": 64, "reserved": 0, "min_unit": 1, "max_unit": 64, "step_size": 1,
                   "allocation_ratio": 1.0}
            for name in ("VCPU", "MEMORY_MB", "DISK_GB")
        },
    }  # fmt: skip
    for name, table, value in (
        ("PUT allocations", allocations.REPLACE, claim),
        ("PUT inventories", inventories.REPLACE, stock),
        ("reshape of 1,000 consumers", reshaper.RESHAPE, reshape(1000)),
    ):
        raw, schema = orjson.dumps(value), table.at(LATEST)

        def check(raw: bytes = raw, schema: json_body.Schema = schema) -> None:
            schema.check(json_body.decode(raw))

        check()
        times = 5 if len(raw) > 100_000 else 2000
        best = min(timeit.repeat(check, number=times, repeat=5)) / times
        yield f"{name:30} {len(raw):>8} bytes {best * 1e6:10.1f} µs"


if __name__ == "__main__":
    chosen = sys.argv[1:]
    for line in legal() if chosen == ["--legal"] else costs(chosen or [*hostile()]):
        print(line, flush=True)
