"""Metrics as text, in the format 0.0.4 of Prometheus, and texts that the processes share."""

import fcntl
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from placement.metrics.declarations import Metric


def family(metric: Metric, samples: Iterable[tuple[str, float]]) -> bytes:
    """Return a metric with its samples: labels as text, each with a value."""
    head = f"# HELP {metric.name} {metric.help}\n# TYPE {metric.name} {metric.kind}\n"
    lines = "".join(f"{metric.name}{labels} {value}\n" for labels, value in samples)
    return (head + lines).encode()


def labels(values: Mapping[str, str]) -> str:
    return "{" + ",".join(f'{name}="{_escaped(value)}"' for name, value in values.items()) + "}"


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


class SharedText:
    """A cached text. Only one process at a time creates a new text."""

    def __init__(self, directory: Path, name: str, keep: float) -> None:
        """Set up the cache. A text is valid for `keep` seconds."""
        self._file = directory / f"{name}.txt"
        # The file that a process locks while it creates the text.
        self._lock = directory / f"{name}.lock"
        self._keep = keep

    def text(self, make: Callable[[bytes | None], bytes]) -> bytes:
        """Return the text. If the cached text is too old, `make` creates a new one from it.

        While another process or thread is creating it, the function returns the previous text, or
        waits if there is none. If `make` raises an error, the error is raised and the cached text
        remains.
        """
        if self._is_fresh():
            return self._file.read_bytes()
        with self._lock.open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if self._file.exists():
                    return self._file.read_bytes()
                fcntl.flock(lock, fcntl.LOCK_EX)
            if self._is_fresh():  # another process has created the text during the wait
                return self._file.read_bytes()
            text = make(self._file.read_bytes() if self._file.exists() else None)
            unfinished = self._file.with_suffix(".new")
            unfinished.write_bytes(text)
            unfinished.replace(self._file)
            return text

    def _is_fresh(self) -> bool:
        try:
            modified = self._file.stat().st_mtime
        except FileNotFoundError:
            return False
        return 0 <= time.time() - modified < self._keep
