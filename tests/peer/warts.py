"""Allowed differences from the peer's responses: faults of the peer that we do not repeat.

The client has the rows of reads, with the pages that announce them. The numbers of the others refer
to the contract's wart register (README section 12), whose verdict on each of these is "free" or
"fix". A difference that no row explains fails the comparison.
"""

from __future__ import annotations

from falcon_placement_client.announced import READS, WHOLE, Announced
from falcon_placement_client.responses import ServerResponse
from tests.kit.engines import ENGINE
from tests.peer.generator import Request

WRITES = (
    Announced(
        "W7", "405 says what is allowed", {"allow"},
        lambda pair: pair.request.minor < 5 and pair.request.path.endswith("/inventories"),
    ),
    Announced(
        "W11", "a line feed at the end of a name is 400", WHOLE,
        lambda pair: pair.ours.status == 400 and b"A\\n" in (pair.request.body or b""),
    ),
    Announced(
        "W19", "a negative ratio is 400", WHOLE,
        lambda pair: pair.ours.status == 400 and "allocation_ratio" in pair.ours.detail,
    ),
    Announced(
        "W21", "a key that is no class name is 400", WHOLE,
        lambda pair: pair.ours.status == 400
        and "is not the name of a resource class" in pair.ours.detail,
    ),
    Announced(
        "W29", "a consumer without allocations leaves no record", WHOLE,
        lambda pair: pair.peer.status == 409
        and "consumer generation conflict - expected 0" in pair.peer.detail,
    ),
    Announced(
        "W44", "a reshape checks capacities", WHOLE,
        lambda pair: pair.request.path == "/reshaper" and pair.ours.status == 400
        and "capacity" in pair.ours.detail,
    ),
    Announced(
        "NUL", "what no database can store is 400", WHOLE,
        lambda pair: pair.ours.status == 400 and b"\\u0000" in (pair.request.body or b""),
    ),
    Announced(
        "N1", "a DELETE of no inventory does not say whether the class exists", {"phrases"},
        lambda pair: pair.request.method == "DELETE" and "found for delete" in pair.ours.detail
        and "found for delete: No such resource class" in pair.peer.detail,
    ),
)  # fmt: skip

# Only on PostgreSQL does the peer fail to return usages by type of consumer.
WARTS = (
    *(row for row in READS if row.name != "usages-by-type" or ENGINE == "postgresql"),
    *WRITES,
)


def leaves_orphan(request: Request, ours: ServerResponse) -> bool:
    """Return whether the peer may have a consumer without allocations (W29)."""
    if request.method == "GET" or not request.path.startswith(("/allocations", "/reshaper")):
        return False
    emptied = ours.status == 204 and b'"allocations": {}' in (request.body or b"")
    return emptied or (ours.status == 400 and "No such resource provider" in ours.detail)
