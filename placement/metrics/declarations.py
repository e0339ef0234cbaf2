"""The declarations of all metrics: name, kind, labels and help.

Counters, the reference and the tests are derived from these declarations. Labels have few values:
operations and codes are in the API's own lists, and any other value is counted as "other".
"""

from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    """The Prometheus metric types that the service uses."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


@dataclass(frozen=True, slots=True)
class Metric:
    name: str
    kind: Kind
    # Description of the measured value, including its unit.
    help: str
    # Label -> description of its values.
    labels: dict[str, str]
    # Upper bounds of the buckets of a histogram. Empty for other kinds.
    buckets: tuple[float, ...] = ()


_OPERATION = {"operation": "id of the operation in the OpenAPI document, show_metrics, or other"}
_POOL = {"pool": "read, write"}

REQUESTS = Metric(
    "placement_requests_total",
    Kind.COUNTER,
    "Completed requests.",
    {
        **_OPERATION,
        "status": "HTTP status",
        "version": "major number of the microversion (1, 2), or none without a microversion",
    },
)
REQUEST_SECONDS = Metric(
    "placement_request_seconds",
    Kind.HISTOGRAM,
    "Seconds from the arrival of a request to the end of its response.",
    _OPERATION,
    (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20),
)
SLOW_REQUESTS = Metric(
    "placement_slow_requests_total",
    Kind.COUNTER,
    "Requests that took longer than [placement] slow_request, whose phases are in the log.",
    _OPERATION,
)
STATEMENTS = Metric(
    "placement_statements_total",
    Kind.COUNTER,
    "Statements sent to the database for requests, except those that begin or end transactions.",
    _OPERATION,
)
CANDIDATES = Metric(
    "placement_search_candidates",
    Kind.HISTOGRAM,
    "Candidates found by a search.",
    {},
    (0, 1, 10, 100, 1_000, 10_000, 100_000),
)
TREES_SEARCHED = Metric(
    "placement_search_trees",
    Kind.HISTOGRAM,
    "Provider trees examined by a search.",
    {},
    (0, 1, 10, 100, 1_000, 10_000, 100_000),
)
STEPS = Metric(
    "placement_search_steps",
    Kind.HISTOGRAM,
    "Steps of a search. A step tries one provider for a group.",
    {},
    (0, 10, 100, 1_000, 10_000, 100_000, 1_000_000),
)
BOUNDS = Metric(
    "placement_search_bounds_total",
    Kind.COUNTER,
    "Searches that a limit of the service ended early. The response has the candidates found so "
    "far, or is 503 if there are none.",
    {
        "bound": "the option: max_search_steps, request_deadline, statement_timeout, "
        "max_answer_size, max_allocation_candidates"
    },
)
REFUSALS = Metric(
    "placement_refusals_total",
    Kind.COUNTER,
    "Responses of allocation candidates without a candidate, by the code that rejects most of the "
    "examined hosts.",
    {
        "code": "code of an explanation, such as capacity; or unknown_aggregate, unknown_tree, "
        "one_per_tree, elsewhere, filtered (rejected by the database)"
    },
)
TREES = Metric(
    "placement_trees_total",
    Kind.COUNTER,
    "Trees that searches have used, read from the cache in memory or from the database.",
    {"source": "memory, database"},
)
KEPT = Metric(
    "placement_tree_cache_providers",
    Kind.GAUGE,
    "Providers cached as trees, summed over all processes.",
    {},
)
RETRIES = Metric(
    "placement_write_retries_total",
    Kind.COUNTER,
    "Writes that were retried, by cause.",
    {
        "cause": "conflict (a concurrent writer changed the rows), duplicate, constraint, "
        "deadlock, connection, no_connection, database (a lock wait timed out, or the statement "
        "was interrupted)"
    },
)
CLAIM_TRIES = Metric(
    "placement_claim_tries",
    Kind.HISTOGRAM,
    "Candidates that a claim tried before it succeeded.",
    {},
    (1, 2, 3, 5, 10, 20, 50),
)
CONFLICTS = Metric(
    "placement_conflicts_total",
    Kind.COUNTER,
    "Requests rejected with 409, by error code.",
    {"code": "code of the error, such as placement.concurrent_update"},
)
LOST_COMMITS = Metric(
    "placement_lost_commits_total",
    Kind.COUNTER,
    "COMMITs that failed with an unknown outcome, by the outcome that was found afterwards.",
    {"outcome": "happened, not_happened, unknown (the response was 503)"},
)
BUSY = Metric(
    "placement_pool_busy_seconds_total",
    Kind.COUNTER,
    "Seconds for which transactions held connections of a pool. The rate of this counter is the "
    "mean number of connections in use.",
    _POOL,
)
NO_CONNECTION = Metric(
    "placement_pool_timeouts_total",
    Kind.COUNTER,
    "Transactions that timed out waiting for a connection of their pool.",
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
    REFUSALS,
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
    "Always 1. The label identifies the installed release.",
    {"version": "release of the service"},
)
TAINT = Metric(
    "placement_taint_info",
    Kind.GAUGE,
    "Always 1, for each trait in the option [placement] taints of the scraped server.",
    {"trait": "name of the trait"},
)

_REQUEST = {"request": "name of the request in [metrics] headroom_file"}
HEADROOM = Metric(
    "placement_headroom",
    Kind.GAUGE,
    "Number of further consumers of the request that certainly fit.",
    _REQUEST,
)
HEADROOM_UPPER = Metric(
    "placement_headroom_upper",
    Kind.GAUGE,
    "Upper bound of the number of further consumers of the request. If the number is known "
    "exactly, it is equal to placement_headroom.",
    _REQUEST,
)
HEADROOM_EMPTY = Metric(
    "placement_headroom_empty",
    Kind.GAUGE,
    "Number of consumers of the request that would fit if nothing were allocated.",
    _REQUEST,
)

# The process metrics of prometheus-client, for each process of the service.
_PROCESS = {"process": "process id, of a worker or of the process that starts the workers"}
PROCESSES = tuple(
    Metric(f"process_{name}", kind, text, _PROCESS)
    for name, kind, text in (
        ("cpu_seconds_total", Kind.COUNTER, "CPU time of the process, in seconds."),
        ("resident_memory_bytes", Kind.GAUGE, "Resident memory of the process."),
        ("virtual_memory_bytes", Kind.GAUGE, "Size of the address space of the process."),
        ("start_time_seconds", Kind.GAUGE, "Start of the process, in seconds since 1970."),
        ("open_fds", Kind.GAUGE, "Open file descriptors of the process, including connections."),
        ("max_fds", Kind.GAUGE, "File descriptors that the process may open."),
    )
)

# The metrics of openstack-exporter for a placement service, under the same names.
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
        ("total", "Total units of the class in the inventory of the provider."),
        ("reserved", "Units of the class that are reserved and cannot be allocated."),
        ("allocation_ratio", "Factor by which unreserved units may be overcommitted."),
        ("usage", "Allocated units of the class."),
        ("generation", "Generation of the provider."),
    )
}
ALLOCATIONS = Metric(
    "openstack_placement_resource_provider_allocations",
    Kind.GAUGE,
    "Units of the class that a consumer has on the provider.",
    {
        "hostname": "name of the provider",
        "uuid": "UUID of the consumer",
        "resourcetype": "resource class",
    },
)

ALL = (
    *SERVICE,
    BUILD,
    TAINT,
    HEADROOM,
    HEADROOM_UPPER,
    HEADROOM_EMPTY,
    *PROCESSES,
    UP,
    *STOCKS.values(),
    ALLOCATIONS,
)
