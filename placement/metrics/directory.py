"""The directory of the counters of a service. Each process has separate files.

The files have the same names as in prometheus-client: `counter_PID.db`, `histogram_PID.db`,
`gauge_livesum_PID.db`. The counts of a process remain after the process has ended.
"""

import atexit
import fcntl
import logging
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TextIO

from placement.errors import ConfigurationError

LOG = logging.getLogger(__name__)

VARIABLE = "PROMETHEUS_MULTIPROC_DIR"  # read by prometheus-client
ENDED = "gone"  # stands for the process id in the names of files of all ended processes

_COUNTS = re.compile(rf"(counter|histogram|gauge_livesum)_([0-9]+|{ENDED})\.db\Z")


def use(named: str | None) -> Path:
    """Make this process count in a directory, and return the path of the directory.

    None selects a temporary directory that is removed when the process ends. Call this before the
    first import of prometheus-client. Raises ConfigurationError if the directory cannot be written,
    or has other files.
    """
    try:
        if named is None:
            directory = _temporary()
        else:
            directory = Path(named)
            directory.mkdir(parents=True, exist_ok=True)
        _refuse_foreign_files(directory)
        (directory / "lock").touch()
    except OSError as error:
        raise ConfigurationError(
            f"[metrics] directory: cannot count there ({error}); name a directory that the service "
            f"may write to, or set [metrics] enabled = false"
        ) from None
    os.environ[VARIABLE] = str(directory)
    return directory


def _refuse_foreign_files(directory: Path) -> None:
    """Raise ConfigurationError for other *.db files, which would be read as counts."""
    for path in directory.glob("*.db"):
        if not _COUNTS.match(path.name):
            raise ConfigurationError(
                f"[metrics] directory: {path} is not a file of the metrics; name a directory that "
                "holds nothing else"
            )


@cache  # one per process, even if the configuration is read again
def _temporary() -> Path:
    directory = Path(tempfile.mkdtemp(prefix="placement-metrics-"))
    creator = os.getpid()

    def remove() -> None:
        if os.getpid() == creator:  # workers inherit this exit handler
            shutil.rmtree(directory, ignore_errors=True)

    atexit.register(remove)
    return directory


def processes(directory: Path) -> dict[int, Path]:
    """Return the running processes that count, each with the file that it wrote last."""
    files: dict[int, Path] = {}
    for path in sorted(directory.glob("*.db"), key=_written):
        process = path.stem.rpartition("_")[2]
        if process != ENDED and _is_running(int(process)):
            files[int(process)] = path
    return files


def _written(path: Path) -> float:
    return path.stat().st_mtime


def _lock(directory: Path) -> TextIO:
    # The file is opened for append, which creates it again after a cleanup of temporary
    # directories.
    return (directory / "lock").open("a")


@contextmanager
def reading(directory: Path) -> Iterator[None]:
    """Enter a block during which no process folds files."""
    with _lock(directory) as lock:
        fcntl.flock(lock, fcntl.LOCK_SH)
        yield


def fold(directory: Path) -> None:
    """Add the counts of ended processes to a common file, and delete their gauges.

    Without this function, each replaced worker would leave its files. If another process is reading
    or folding, the function does nothing, and the next call folds the files.
    """
    with _lock(directory) as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return
        for path in directory.glob("*.db"):
            kind, _, process = path.stem.partition("_")
            process = process.rpartition("_")[2]
            if process == ENDED or _is_running(int(process)):
                continue
            if kind != "gauge":
                try:
                    _add(path, directory / f"{kind}_{ENDED}.db")
                except OSError as error:
                    LOG.error("%s is not added to the sums yet: %s", path, error)
                    continue
            path.unlink()


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


def _add(path: Path, total: Path) -> None:
    # The library reads the environment variable during its import.
    from placement.compat import prometheus  # noqa: PLC0415

    prometheus.add_to_file(total, prometheus.read_file(path))
