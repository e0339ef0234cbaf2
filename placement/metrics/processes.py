"""Metrics for each process: CPU, memory and file descriptors."""

from collections.abc import Iterable
from pathlib import Path

from prometheus_client.process_collector import ProcessCollector

from placement.metrics.declarations import PROCESSES
from placement.metrics.text import family, labels

_STARTED = "process_start_time_seconds"
_CLOCK_TOLERANCE = 2.0  # seconds; the kernel measures the start of a process in ticks


def text(counting: Iterable[tuple[int, Path]]) -> bytes:
    """Return the metrics of the processes (ids) that have last written the given files.

    The process id of an ended process may now belong to another program. Such a program started
    after the last write to the file, so it is omitted.
    """
    values = {}
    for process, file in counting:
        samples = _samples(process)
        written = file.stat().st_mtime + _CLOCK_TOLERANCE
        if samples.get(_STARTED, written) < written:
            values[process] = samples
    return b"".join(
        family(
            metric,
            [
                (labels({"process": str(process)}), samples[metric.name])
                for process, samples in values.items()
                if metric.name in samples
            ],
        )
        for metric in PROCESSES
    )


def _samples(process: int) -> dict[str, float]:
    """Return values by name.

    Empty for an ended process, and incomplete for processes of other users.
    """
    families = ProcessCollector(pid=lambda: process, registry=None).collect()
    return {sample.name: sample.value for family in families for sample in family.samples}
