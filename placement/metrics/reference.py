"""The reference of all metrics, generated from their declarations.

docs/reference/metrics.rst is the output of `python -m placement.metrics.reference`. A test compares
the two.
"""

import sys
import textwrap
from collections.abc import Iterator, Sequence

from placement.metrics.declarations import (
    ALLOCATIONS,
    BUILD,
    HEADROOM,
    HEADROOM_EMPTY,
    HEADROOM_UPPER,
    PROCESSES,
    SERVICE,
    STOCKS,
    TAINT,
    UP,
    Metric,
)

HEAD = """\
=======
Metrics
=======

The section ``[metrics]`` of ``placement.conf`` configures the address and the access rights of the
metrics. Counters and histograms are sums over all processes of a service, including processes that
have ended. Gauges are sums over the running processes. Process metrics have one value for each
running process. The number of label values does not depend on the requests of clients.

This page is generated from ``placement/metrics/declarations.py`` by ``python -m
placement.metrics.reference``.
"""
PARTS: Sequence[tuple[str, str, Sequence[Metric]]] = (
    ("The service", "These metrics count events in the service.", SERVICE),
    ("The release", "This metric identifies the installed release.", (BUILD,)),
    ("The configuration", "This metric reports options of the scraped server.", (TAINT,)),
    (
        "Headroom",
        "The following metrics are measured for the requests in ``[metrics] headroom_file``, at "
        "most every ``headroom_interval`` seconds and only after a change. Each has one line per "
        "request.",
        (HEADROOM, HEADROOM_UPPER, HEADROOM_EMPTY),
    ),
    (
        "The processes",
        "The following metrics are the process metrics of prometheus-client, for each running "
        "process. When a worker is replaced, the new worker has another process id. ``sum without "
        "(process)`` adds up the values of all processes.",
        PROCESSES,
    ),
    (
        "The cloud",
        "The following metrics have the names of openstack-exporter's metrics, and additionally "
        "the root of the provider's tree as a label. ``sum by (root, resourcetype)`` "
        "adds up nested providers by host. They are updated every ``[metrics] inventory_seconds``. "
        "If this option is 0, they are omitted. Each inventory has five lines of about 110 bytes. "
        "10,000 hosts with three classes each make 150,000 lines, 16 MB; 10,000 trees of seven "
        "providers with nine inventories make 450,000 lines, 49 MB (``python -m bench.scrape``).",
        (UP, *STOCKS.values()),
    ),
    (
        "The consumers",
        "The following metric has the name and the labels of openstack-exporter's metric. It is "
        "updated with the metrics of the cloud, if ``[metrics] allocations`` is true. It has one "
        "line for each consumer, provider and class.",
        (ALLOCATIONS,),
    ),
)


QUERIES = """\
Queries
=======

The following query returns the usage of each host with its children, as a fraction of the capacity.
``max by`` removes the duplicates of several scraped servers::

    sum by (root, resourcetype) (
      max by (root, hostname, resourcetype) (openstack_placement_resource_usage))
    / sum by (root, resourcetype) (
      max by (root, hostname, resourcetype) (
        (openstack_placement_resource_total - openstack_placement_resource_reserved)
        * openstack_placement_resource_allocation_ratio))

The following query returns the free units of each host with its children::

    sum by (root, resourcetype) (
      max by (root, hostname, resourcetype) (
        (openstack_placement_resource_total - openstack_placement_resource_reserved)
        * openstack_placement_resource_allocation_ratio
        - openstack_placement_resource_usage))

Scrape configuration
====================

The following job scrapes servers that listen on port 9178, with ``bind_port = 9178`` and
``token_required = false`` in ``[metrics]``, behind a firewall that admits only Prometheus. The
metrics of the cloud are the same on all servers, so it is sufficient to scrape one server for them.
The metrics of the service are different on each server, so all servers must be scraped::

    scrape_configs:
      - job_name: placement
        scrape_interval: 60s
        scrape_timeout: 30s
        metrics_path: /metrics
        static_configs:
          - targets: ["placement1.example.org:9178", "placement2.example.org:9178"]
"""


def text() -> str:
    return "\n".join([HEAD, *_parts(), QUERIES])


def _parts() -> Iterator[str]:
    for title, meaning, metrics in PARTS:
        yield f"{title}\n{'=' * len(title)}\n\n{textwrap.fill(meaning, 98)}\n"
        for metric in metrics:
            yield _entry(metric)


def _entry(metric: Metric) -> str:
    lines = [f"``{metric.name}`` ({metric.kind})", _indented(metric.help)]
    if metric.labels:
        lines.append("")
    lines += [_indented(f":{name}: {values}", "    ") for name, values in metric.labels.items()]
    if metric.buckets:
        bounds = ", ".join(f"{bound:,}" for bound in metric.buckets)
        lines += ["", _indented(f"Buckets up to {bounds}.")]
    return "\n".join(lines) + "\n"


def _indented(line: str, more: str = "") -> str:
    return textwrap.fill(line, 98, initial_indent="    ", subsequent_indent=f"    {more}")


if __name__ == "__main__":
    sys.stdout.write(text())
