"""Every metric: name, kind, labels, meaning. Counting, reference and tests follow these.

Labels have few values, whatever clients send: operations and codes are those of the API, and what
is none of them is "other".
"""

from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    """The types of Prometheus that are used here."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric.

    labels: name -> what its values are. buckets: the upper bounds of a histogram's.
    """

    name: str
    kind: Kind
    help: str
    labels: dict[str, str]
    buckets: tuple[float, ...] = ()


_OPERATION = {"operation": "id of the operation in the API's document; show_metrics; other"}
_POOL = {"pool": "read, write"}

REQUESTS = Metric(
    "placement_requests_total",
    Kind.COUNTER,
    "Requests that were answered.",
    {
        **_OPERATION,
        "status": "HTTP status",
        "version": "line of the microversion (1, 2); none where none was negotiated",
    },
)
REQUEST_SECONDS = Metric(
    "placement_request_seconds",
    Kind.HISTOGRAM,
    "Seconds from a request to the end of its answer.",
    _OPERATION,
    (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20),
)
SLOW_REQUESTS = Metric(
    "placement_slow_requests_total",
    Kind.COUNTER,
    "Requests that took longer than [placement] slow_request; the log says where the time went.",
    _OPERATION,
)
STATEMENTS = Metric(
    "placement_statements_total",
    Kind.COUNTER,
    "Statements sent to the database for requests, but for those that begin or end transactions.",
    _OPERATION,
)
CANDIDATES = Metric(
    "placement_search_candidates",
    Kind.HISTOGRAM,
    "Candidates that a search has found.",
    {},
    (0, 1, 10, 100, 1_000, 10_000, 100_000),
)
TREES_SEARCHED = Metric(
    "placement_search_trees",
    Kind.HISTOGRAM,
    "Trees of providers that a search has looked at.",
    {},
    (0, 1, 10, 100, 1_000, 10_000, 100_000),
)
STEPS = Metric(
    "placement_search_steps",
    Kind.HISTOGRAM,
    "Steps of a search: providers tried for a group.",
    {},
    (0, 10, 100, 1_000, 10_000, 100_000, 1_000_000),
)
BOUNDS = Metric(
    "placement_search_bounds_total",
    Kind.COUNTER,
    "Searches that a bound of the service has cut short, or left without an answer (503).",
    {
        "bound": "the option of [placement]: max_search_steps, request_deadline, max_answer_size, "
        "max_allocation_candidates"
    },
)
TREES = Metric(
    "placement_trees_total",
    Kind.COUNTER,
    "Trees that searches needed, by where they came from: memory is a hit of the cache.",
    {"source": "memory, database"},
)
KEPT = Metric(
    "placement_tree_cache_providers",
    Kind.GAUGE,
    "Providers that all processes together keep in memory, as trees.",
    {},
)
RETRIES = Metric(
    "placement_write_retries_total",
    Kind.COUNTER,
    "Writes that were run again, by cause.",
    {
        "cause": "conflict (others changed what was read), duplicate, constraint, deadlock, "
        "connection, no_connection, database (waited too long for a lock, or was interrupted)"
    },
)
CLAIM_TRIES = Metric(
    "placement_claim_tries",
    Kind.HISTOGRAM,
    "Candidates that a claim has tried until its consumers got what they asked for.",
    {},
    (1, 2, 3, 5, 10, 20, 50),
)
CONFLICTS = Metric(
    "placement_conflicts_total",
    Kind.COUNTER,
    "Requests that were refused with 409, by the code of the error.",
    {"code": "code of the error, such as placement.concurrent_update"},
)
LOST_COMMITS = Metric(
    "placement_lost_commits_total",
    Kind.COUNTER,
    "COMMITs that failed without saying whether they happened, by what was found out.",
    {"outcome": "happened, not_happened, unknown (the client was told so)"},
)
BUSY = Metric(
    "placement_pool_busy_seconds_total",
    Kind.COUNTER,
    "Seconds for which transactions had connections of a pool; its rate is how many are in use.",
    _POOL,
)
NO_CONNECTION = Metric(
    "placement_pool_timeouts_total",
    Kind.COUNTER,
    "Transactions that got no connection of their pool in time.",
    _POOL,
)

SERVICE = (
    REQUESTS,
    REQUEST_SECONDS,
    SLOW_REQUESTS,
    STATEMENTS,
    CANDIDATES,
    TREES_SEARCHED,
    STEPS,
    BOUNDS,
    TREES,
    KEPT,
    RETRIES,
    CLAIM_TRIES,
    CONFLICTS,
    LOST_COMMITS,
    BUSY,
    NO_CONNECTION,
)

BUILD = Metric(
    "placement_build_info",
    Kind.GAUGE,
    "1, for the release that answers.",
    {"version": "of the release"},
)

# What prometheus-client says of a process, of each of them under its number.
_PROCESS = {"process": "process id; the workers have their own, and so has what starts them"}
PROCESSES = tuple(
    Metric(f"process_{name}", kind, text, _PROCESS)
    for name, kind, text in (
        ("cpu_seconds_total", Kind.COUNTER, "Seconds of CPU that the process has spent."),
        ("resident_memory_bytes", Kind.GAUGE, "Memory of the process that is resident."),
        ("virtual_memory_bytes", Kind.GAUGE, "Size of its address space."),
        ("start_time_seconds", Kind.GAUGE, "When it started, in seconds since 1970."),
        ("open_fds", Kind.GAUGE, "File descriptors that it has open, connections too."),
        ("max_fds", Kind.GAUGE, "File descriptors that it may have open."),
    )
)

# What openstack-exporter says of a placement service, under its names.
_STOCK = {
    "hostname": "name of the provider",
    "resourcetype": "resource class",
    "root": "name of the provider at the top of its tree, which is its host",
}

UP = Metric(
    "openstack_placement_up",
    Kind.GAUGE,
    "Whether the inventories could be read (1) or not (0).",
    {},
)
STOCKS = {
    field: Metric(f"openstack_placement_resource_{field}", Kind.GAUGE, text, _STOCK)
    for field, text in (
        ("total", "What the provider has of the class."),
        ("reserved", "What of it is not for allocations."),
        ("allocation_ratio", "How often the rest may be allocated."),
        ("usage", "What is allocated."),
        ("generation", "Generation of the provider."),
    )
}

ALL = (*SERVICE, BUILD, *PROCESSES, UP, *STOCKS.values())
