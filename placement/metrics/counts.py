"""The listener that counts events."""

import logging
import os
from collections.abc import Callable, Mapping
from typing import Any

from prometheus_client import Counter, Gauge, Histogram

from placement.compat.prometheus import count_in_files
from placement.metrics import declarations as d
from placement.metrics.declarations import Kind, Metric
from placement.runtime.events import Details, Event

LOG = logging.getLogger(__name__)

count_in_files()


class Counts:
    """Counts events in the files of this process.

    It can be used after a fork: the child process writes files of its own.
    """

    def __init__(self) -> None:
        """Create the files of this process. Raises OSError if a file cannot be written."""
        # Id of the process that has stopped counting because its disk is full, or 0.
        self._stopped_in = 0
        # Name of a metric -> its collector in the library.
        self._collectors = {metric.name: _collector(metric) for metric in d.SERVICE}
        # PERF: the library's own lookup of a labelled metric needs a lock and takes several times
        # as long.
        self._children: dict[tuple[str, ...], Any] = {}
        # (Operation, status, version) -> the counter of requests and the histogram of seconds.
        self._children_of_request: dict[tuple[str, str, str | None], tuple[Any, Any]] = {}
        # Event -> the method that counts it.
        self._count: Mapping[Event, Callable[[Mapping[str, Any]], None]] = {
            Event.REQUEST: self._request,
            Event.SEARCH: self._search,
            Event.REFUSAL: self._refusal,
            Event.TREES: self._trees,
            Event.RETRY: self._retry,
            Event.CLAIM: self._claim,
            Event.CONFLICT: self._conflict,
            Event.LOST_COMMIT: self._lost_commit,
            Event.CONNECTION: self._connection,
            Event.NO_CONNECTION: self._no_connection,
        }

    def __call__(self, event: Event, details: Details) -> None:
        """Count an event. If the disk is full, this process logs an error and stops counting."""
        if self._stopped_in == os.getpid():
            return
        try:
            self._count[event](details)
        except OSError as error:
            self._stopped_in = os.getpid()
            LOG.error("this process stops counting for the metrics: %s", error)

    def _of(self, metric: Metric, *labels: str) -> Any:
        key = (metric.name, *labels)
        child = self._children.get(key)
        if child is None:
            collector = self._collectors[metric.name]
            child = self._children[key] = collector.labels(*labels) if labels else collector
        return child

    def _request(self, details: Mapping[str, Any]) -> None:
        # PERF: called for every request.
        key = details["operation"], details["status"], details["version"]
        requests, seconds = self._children_of_request.get(key) or self._request_children(*key)
        requests.inc()
        seconds.observe(details["seconds"])
        if details["statements"]:
            self._of(d.STATEMENTS, details["operation"]).inc(details["statements"])
        if details["slow"]:
            self._of(d.SLOW_REQUESTS, details["operation"]).inc()

    def _request_children(
        self, operation: str, status: str, version: str | None
    ) -> tuple[Any, Any]:
        line = "none" if version is None else version.partition(".")[0]
        children = self._children_of_request[operation, status, version] = (
            self._of(d.REQUESTS, operation, status, line),
            self._of(d.REQUEST_SECONDS, operation),
        )
        return children

    def _search(self, details: Mapping[str, Any]) -> None:
        self._of(d.CANDIDATES).observe(details["candidates"])
        self._of(d.TREES_SEARCHED).observe(details["trees_searched"])
        self._of(d.STEPS).observe(details["steps"])
        if details["bound"] is not None:
            self._of(d.BOUNDS, details["bound"]).inc()

    def _refusal(self, details: Mapping[str, Any]) -> None:
        self._of(d.REFUSALS, details["code"]).inc()

    def _trees(self, details: Mapping[str, Any]) -> None:
        self._of(d.TREES, "memory").inc(details["cached"])
        self._of(d.TREES, "database").inc(details["loaded"])
        self._of(d.KEPT).set(details["kept"])

    def _retry(self, details: Mapping[str, Any]) -> None:
        self._of(d.RETRIES, details["cause"]).inc()

    def _claim(self, details: Mapping[str, Any]) -> None:
        self._of(d.CLAIM_TRIES).observe(details["tries"])

    def _conflict(self, details: Mapping[str, Any]) -> None:
        self._of(d.CONFLICTS, details["code"]).inc()

    def _lost_commit(self, details: Mapping[str, Any]) -> None:
        outcome = {True: "happened", False: "not_happened", None: "unknown"}
        self._of(d.LOST_COMMITS, outcome[details["happened"]]).inc()

    def _connection(self, details: Mapping[str, Any]) -> None:
        self._of(d.BUSY, details["pool"]).inc(details["seconds"])

    def _no_connection(self, details: Mapping[str, Any]) -> None:
        self._of(d.NO_CONNECTION, details["pool"]).inc()


def _collector(metric: Metric) -> Counter | Gauge | Histogram:
    labels = tuple(metric.labels)
    if metric.kind is Kind.COUNTER:
        return Counter(metric.name, metric.help, labels, registry=None)
    if metric.kind is Kind.GAUGE:
        return Gauge(
            metric.name,
            metric.help,
            labels,
            registry=None,
            multiprocess_mode="livesum",  # added up over the running processes
        )
    return Histogram(metric.name, metric.help, labels, registry=None, buckets=metric.buckets)
