"""The reference of all metrics, generated from their declarations.

docs/reference/metrics.rst is the output of `python -m placement.metrics.reference`; a test
compares them.
"""

import sys
import textwrap
from collections.abc import Iterator, Sequence

from placement.metrics.declarations import BUILD, PROCESSES, SERVICE, STOCKS, TAINT, UP, Metric

HEAD = """\
=======
Metrics
=======

The section ``[metrics]`` of ``placement.conf`` says where the metrics are served, and to whom.
Counters and histograms are sums over all processes of a service, including ended ones; gauges are
sums over the running ones. Metrics of processes have one value for each running process. Labels
have few values, whatever clients send.

This page is generated from ``placement/metrics/declarations.py`` by ``python -m
placement.metrics.reference``.
"""
PARTS: Sequence[tuple[str, str, Sequence[Metric]]] = (
    ("The service", "Counts of events in the service.", SERVICE),
    ("The release", "The installed release.", (BUILD,)),
    ("The configuration", "The options of the server that answers.", (TAINT,)),
    (
        "The processes",
        "The process metrics of prometheus-client, for each running process. A worker that is "
        "replaced gets another process id: sum without (process) adds them up.",
        PROCESSES,
    ),
    (
        "The cloud",
        "The metrics of openstack-exporter for a placement service, under the same names, with "
        "the root of the provider's tree as an additional label: ``sum by (root, resourcetype)`` "
        "adds up nested providers by host. They are read every ``[metrics] inventory_seconds``; "
        "0 leaves them out. Each inventory has five lines of about 110 bytes. 10,000 hosts with "
        "three classes each make 150,000 lines, 16 MB; 10,000 trees of seven providers with nine "
        "inventories make 450,000 lines, 49 MB (``python -m bench.scrape``).",
        (UP, *STOCKS.values()),
    ),
)


QUERIES = """\
Queries
=======

The usage of each host with its children, as a part of the capacity. ``max by`` removes the
duplicates of several scraped servers::

    sum by (root, resourcetype) (
      max by (root, hostname, resourcetype) (openstack_placement_resource_usage))
    / sum by (root, resourcetype) (
      max by (root, hostname, resourcetype) (
        (openstack_placement_resource_total - openstack_placement_resource_reserved)
        * openstack_placement_resource_allocation_ratio))

Units that are free on each host with its children::

    sum by (root, resourcetype) (
      max by (root, hostname, resourcetype) (
        (openstack_placement_resource_total - openstack_placement_resource_reserved)
        * openstack_placement_resource_allocation_ratio
        - openstack_placement_resource_usage))

Scrape configuration
====================

For Prometheus, with ``bind_host = 0.0.0.0``, ``bind_port = 9178`` and ``token_required = false`` in
``[metrics]``, behind a firewall that admits Prometheus only. One server is enough for the metrics
of the cloud; the metrics of the service need all of them::

    scrape_configs:
      - job_name: placement
        scrape_interval: 60s
        scrape_timeout: 30s
        metrics_path: /metrics
        static_configs:
          - targets: ["placement1.example.org:9178", "placement2.example.org:9178"]
"""


def text() -> str:
    """Return the reference as reStructuredText."""
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
