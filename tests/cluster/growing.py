"""`python -m tests.cluster.growing N SEED`: N requests, no two alike, to an application.

Prints the resident memory in KiB, its maximum so far, and the number of objects after up to 5,000
requests, and at the end. The environment names the database, as for the application.
"""

from __future__ import annotations

import gc
import io
import random
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.fuzz.hostile import Environ, Hostile
from tests.kit.cloud import Cloud, Provider, aggregate_uuid

FIRST = 5000
HOSTS = 300
TRAITS = [f"CUSTOM_T{number}" for number in range(40)]
SEARCHES = 0.3  # share of the searches, which the other requests rarely reach

# What a request contains of hosts, aggregates, consumers, names, owners and amounts.
VALUES = re.compile(
    r"([0ac])0000000-0000-4000-8000-\d{12}|CUSTOM_\w+|HW_CPU_X86_AVX2|host\d|(?<==)[pq]\b|"
    r'"[pq]"|(VCPU|DISK_GB)(:|":)\d+'
)
KNOWN = {"0": 2 * HOSTS, "a": 100, "c": 2000}  # half of the hosts exist


def cloud(source: random.Random) -> Cloud:
    """Return hosts with different traits and aggregates."""
    stock = {"VCPU": 16, "DISK_GB": 1000}
    hosts = [
        Provider(stock, source.sample(TRAITS, 8), name=f"host{number}",
                 aggregates=[aggregate_uuid(number % 40 + 1)])
        for number in range(HOSTS)
    ]  # fmt: skip
    return Cloud("different", lambda: hosts)


def requests(source: random.Random) -> Iterator[Environ]:
    """Yield requests of all operations. Their identifiers, names and amounts are random."""

    def vary(match: re.Match[str]) -> str:
        kind, resource_class, colon = match.groups()
        if kind:
            return f"{kind}0000000-0000-4000-8000-{source.randrange(1, KNOWN[kind]):012d}"
        if resource_class:
            return f"{resource_class}{colon}{source.randrange(1, 40)}"
        if match[0][0] in "CH":
            return f"CUSTOM_T{source.randrange(60)}"
        if match[0].startswith("host"):
            return f"host{source.randrange(2 * HOSTS)}"
        return re.sub("[pq]", f"p{source.randrange(10**6)}", match[0])

    while True:
        environ = Hostile(source).environ()
        if source.random() < SEARCHES:
            environ |= {
                "REQUEST_METHOD": "GET",
                "PATH_INFO": "/allocation_candidates",
                "QUERY_STRING": f"resources=VCPU:{source.randrange(1, 4)}&limit=10"
                f"&required={','.join(source.sample(TRAITS, source.randrange(1, 5)))}",
                "HTTP_OPENSTACK_API_VERSION": "placement 1.39",
            }
        for name in ("PATH_INFO", "QUERY_STRING"):
            environ[name] = VALUES.sub(vary, environ[name])
        body = environ["wsgi.input"]
        if type(body) is io.BytesIO:
            raw = VALUES.sub(vary, body.getvalue().decode("latin-1")).encode("latin-1")
            environ["wsgi.input"] = io.BytesIO(raw)
            if "CONTENT_LENGTH" in environ:
                environ["CONTENT_LENGTH"] = str(len(raw))
        yield environ


def resident() -> tuple[int, int]:
    """Return the resident memory of this process and its maximum so far, in KiB."""
    status = Path("/proc/self/status").read_text()
    now, peak = (int(status.partition(name)[2].split()[0]) for name in ("VmRSS:", "VmHWM:"))
    return now, peak


def objects() -> int:
    """Return the number of objects that are in use."""
    gc.collect()
    return len(gc.get_objects())


def main(count: int, seed: str) -> None:
    """Send the requests and print the measurements."""
    from placement.wsgi.api import application

    def start_response(status: str, _headers: Any, _error: Any = None) -> Any:
        assert not status.startswith("500"), environ
        return None

    first = min(FIRST, count // 2)
    for number, environ in enumerate(requests(random.Random(seed))):
        if number in (first, count):
            print(*resident(), objects(), flush=True)
        if number == count:
            return
        body = application(environ, start_response)
        for _part in body:
            pass
        close = getattr(body, "close", None)
        if close is not None:
            close()


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
