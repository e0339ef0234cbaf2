"""Everything that a server returns: each GET of its API, for all of its objects."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote

from falcon_placement_client.announced import Exchange, explained
from falcon_placement_client.responses import ServerResponse
from tests.peer.compare import differences, send
from tests.peer.generator import LATEST, Request
from tests.peer.servers import Server
from tests.peer.warts import WARTS

OF_PROVIDER = ("", "/inventories", "/usages", "/traits", "/aggregates", "/allocations")
ALLOCATION_VERSIONS = (0, 12, 28, 38, LATEST)
LISTS = (
    ("/resource_providers", ""),
    ("/resource_classes", ""),
    ("/traits", ""),
    ("/traits", "associated=true"),
    ("/traits", "name=startswith:CUSTOM_"),
    ("/resource_providers", "required=MISC_SHARES_VIA_AGGREGATE"),
    ("/resource_providers", "resources=VCPU:2,MEMORY_MB:1024"),
)
CANDIDATES = (
    (10, "resources=VCPU:1,MEMORY_MB:512"),
    (28, "resources=VCPU:1,MEMORY_MB:512,DISK_GB:10"),
    (29, "resources=VCPU:2,MEMORY_MB:512,DISK_GB:10&required=STORAGE_DISK_SSD"),
    (LATEST, "resources=VCPU:1,DISK_GB:10&required=!STORAGE_DISK_SSD"),
    (LATEST, "resources=VCPU:1&root_required=COMPUTE_NODE,!CUSTOM_WINDOWS_LICENSE_POOL"),
    (
        LATEST,
        "resources1=VCPU:2&required1=HW_NUMA_ROOT&resources2=SRIOV_NET_VF:1"
        "&group_policy=none&same_subtree=1,2",
    ),
    (LATEST, "resources_GPU=VGPU:1&resources=CUSTOM_VGPU_LICENSE:1"),
)

Answers = Mapping[Request, ServerResponse]


def everything(server: Server) -> dict[Request, ServerResponse]:
    """Read the complete content of a server."""
    answers: dict[Request, ServerResponse] = {}

    def ask(path: str, minor: int = LATEST, query: str = "") -> Any:
        request = Request("GET", path, minor, query)
        answers[request] = send(server, request)
        return answers[request].body

    for path, query in LISTS:
        ask(path, LATEST, query)
    ask("/resource_providers", 0)
    consumers: set[str] = set()
    owners: set[tuple[str, str]] = set()
    for provider in ask("/resource_providers")["resource_providers"]:
        of_provider = f"/resource_providers/{provider['uuid']}"
        for sub in OF_PROVIDER:
            ask(f"{of_provider}{sub}")
        ask(of_provider, 0)
        ask("/resource_providers", LATEST, f"in_tree={provider['uuid']}")
        for name in ask(f"{of_provider}/inventories")["inventories"]:
            ask(f"{of_provider}/inventories/{quote(name)}")
        consumers |= ask(f"{of_provider}/allocations")["allocations"].keys()
    for consumer in sorted(consumers):
        for minor in ALLOCATION_VERSIONS:
            told = ask(f"/allocations/{consumer}", minor)
        owners.add((told["project_id"], told["user_id"]))
    for project, user in sorted(owners):
        for minor in (9, 37, LATEST):
            ask("/usages", minor, f"project_id={quote(project)}")
            ask("/usages", minor, f"project_id={quote(project)}&user_id={quote(user)}")
    for minor, query in CANDIDATES:
        ask("/allocation_candidates", minor, query)
    for each in list(_named(answers)):
        ask(each)
    return answers


def _named(answers: Answers) -> Iterator[str]:
    for request, answer in answers.items():
        if request.path in {"/resource_classes", "/traits"} and not request.query:
            for each in answer.body.get("resource_classes", ()):
                yield f"/resource_classes/{each['name']}"
            for name in answer.body.get("traits", ()):
                if name.startswith("CUSTOM_"):
                    yield f"/traits/{name}"


def settled(before: Answers, after: Answers) -> dict[Request, str]:
    """When what is asked was modified, where two readings of one state agree on it.

    They do not where the time is that of the answer.
    """
    return {
        request: answer.headers["last-modified"]
        for request, answer in before.items()
        if "last-modified" in answer.headers
        and answer.headers["last-modified"] == after[request].headers.get("last-modified")
    }


def disagreements(
    ours: Answers, peer: Answers, modified: Mapping[Request, str]
) -> tuple[list[str], set[str]]:
    """Differences of two servers in the same state, and the warts that explain others."""
    found = [f"only one was asked {each}" for each in ours.keys() ^ peer.keys()]
    warts: set[str] = set()
    for request in ours.keys() & peer.keys():
        one, other = ours[request], peer[request]
        differing = differences(request, one, other)
        rows, left = explained(WARTS, Exchange(request, one, other), differing)
        warts |= {row.name for row in rows}
        if left:
            found.append(f"{request.curl('')}: {left!r:.1500}")
        if request in modified and one.headers.get("last-modified") != modified[request]:
            times = one.headers.get("last-modified"), modified[request]
            found.append(f"{request.curl('')}: last modified {times}")
    return found, warts
