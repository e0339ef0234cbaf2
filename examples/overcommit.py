"""`python -m examples.overcommit URL`: claims at the same time, for one provider.

In each round, 12 clients send 60 claims of 1 VCPU for a new provider with 20 VCPU. The program
prints how many claims the service accepted, and deletes what it created. It works with any
placement service. The exit code is 1 if the service accepted more than 20 claims in a round.
"""

from __future__ import annotations

import argparse
import sys
import uuid
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import requests

CAPACITY = 20
CLAIMS = 60
CLIENTS = 12
TIMEOUT = 120  # seconds for a response


class Service:
    """Sends requests to a service, with one token."""

    def __init__(self, url: str, token: str) -> None:
        self._url = url.rstrip("/")
        self._headers = {"X-Auth-Token": token, "OpenStack-API-Version": "placement 1.30"}

    def send(self, method: str, path: str, body: object = None) -> requests.Response:
        """Return the response, of any status."""
        url = self._url + path
        return requests.request(method, url, json=body, headers=self._headers, timeout=TIMEOUT)

    def expect(self, method: str, path: str, body: object = None) -> None:
        """Send a request; exit if it fails."""
        response = self.send(method, path, body)
        if not response.ok:
            sys.exit(f"{method} {path} failed with {response.status_code}: {response.text}")


def race(service: Service) -> Counter[int]:
    """Return the statuses of the claims of one round."""
    provider, owner = str(uuid.uuid4()), str(uuid.uuid4())
    consumers = [str(uuid.uuid4()) for _ in range(CLAIMS)]
    claim = {
        "allocations": {provider: {"resources": {"VCPU": 1}}},
        "project_id": owner,
        "user_id": owner,
        "consumer_generation": None,
    }
    inventory = {"resource_provider_generation": 0, "inventories": {"VCPU": {"total": CAPACITY}}}
    service.expect("POST", "/resource_providers", {"name": provider, "uuid": provider})
    service.expect("PUT", f"/resource_providers/{provider}/inventories", inventory)
    with ThreadPoolExecutor(CLIENTS) as clients:
        sent = [
            clients.submit(service.send, "PUT", f"/allocations/{consumer}", claim)
            for consumer in consumers
        ]
    statuses = Counter(future.result().status_code for future in sent)
    for consumer in consumers:
        service.send("DELETE", f"/allocations/{consumer}")  # 404 if its claim was refused
    service.expect("DELETE", f"/resource_providers/{provider}")
    return statuses


def main(arguments: list[str] | None = None) -> int:
    """Run the rounds, and return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("url", help="of a placement service, e.g. http://127.0.0.1:8778")
    parser.add_argument("--token", default="admin", help="for the header X-Auth-Token")
    parser.add_argument("--rounds", type=int, default=12)
    options = parser.parse_args(arguments)
    service = Service(options.url, options.token)
    exceeded = 0
    for number in range(1, options.rounds + 1):
        try:
            statuses = race(service)
        except requests.RequestException as error:
            sys.exit(f"{options.url}: {error}")
        exceeded += statuses[204] > CAPACITY
        print(
            f"round {number}: {statuses[204]} of {CLAIMS} claims accepted where {CAPACITY} fit",
            flush=True,
        )
    print(f"{exceeded} of {options.rounds} rounds exceeded the capacity")
    return min(exceeded, 1)


if __name__ == "__main__":
    sys.exit(main())
