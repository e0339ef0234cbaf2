"""The reference of all metrics, made of their declarations.

docs/reference/metrics.rst is the output of `python -m placement.metrics.reference`; a test
compares them.
"""

import sys
import textwrap
from collections.abc import Iterator, Sequence

from placement.metrics.declarations import BUILD, PROCESSES, SERVICE, STOCKS, UP, Metric

HEAD = """\
=======
Metrics
=======

Where they are shown, and to whom, is said by ``[metrics]`` in ``placement.conf``. Counters and
histograms are sums over all processes of a service, those that are gone too; gauges are sums over
those that live, and metrics of processes have one value for each of these. Labels have few values,
whatever clients send.

This page is made of ``placement/metrics/declarations.py``, by ``python -m
placement.metrics.reference``.
"""
PARTS: Sequence[tuple[str, str, Sequence[Metric]]] = (
    ("The service", "What it does, counted as it happens.", SERVICE),
    ("The release", "What is installed.", (BUILD,)),
    (
        "The processes",
        "What prometheus-client says of a process, for each that lives. The number of a worker is "
        "another after it was replaced: sum without (process) adds them up.",
        PROCESSES,
    ),
    (
        "The cloud",
        "What openstack-exporter says of a placement service, under its names, with the root of "
        "the provider's tree: ``sum by (root, resourcetype)`` adds nested providers up by host. "
        "They are read again every ``[metrics] inventory_seconds``; 0 leaves them out. Each has "
        "five lines of some 110 bytes. 10,000 hosts with three classes each make 150,000 lines, "
        "16 MB; 10,000 trees of seven providers with nine inventories make 450,000 lines, 49 MB "
        "(``python -m bench.scrape``).",
        (UP, *STOCKS.values()),
    ),
)


def text() -> str:
    """Return the reference as reStructuredText."""
    return "\n".join([HEAD, *_parts()])


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
