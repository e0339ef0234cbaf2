"""The directory in which the processes of a service count, each in files of its own.

The files are those of prometheus-client: `counter_PID.db`, `histogram_PID.db`,
`gauge_livesum_PID.db`. What a process has counted stays when it is gone.
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

VARIABLE = "PROMETHEUS_MULTIPROC_DIR"  # where prometheus-client looks
GONE = "gone"  # in the place of a process id: all that are gone

_COUNTS = re.compile(rf"(counter|histogram|gauge_livesum)_([0-9]+|{GONE})\.db\Z")


def use(named: str | None) -> Path:
    """Count in the directory, or in one that is made now and removed at the end of the process.

    This comes before the import of prometheus-client. Raises ConfigurationError.
    """
    try:
        if named is None:
            directory = _temporary()
        else:
            directory = Path(named)
            directory.mkdir(parents=True, exist_ok=True)
        _refuse_strangers(directory)
        (directory / "lock").touch()
    except OSError as error:
        raise ConfigurationError(
            f"[metrics] directory: cannot count there ({error}); name a directory that the service "
            f"may write to, or set [metrics] enabled = false"
        ) from None
    os.environ[VARIABLE] = str(directory)
    return directory


def _refuse_strangers(directory: Path) -> None:
    """Raise ConfigurationError for a database, say: counts are added up from all *.db files."""
    for path in directory.glob("*.db"):
        if not _COUNTS.match(path.name):
            raise ConfigurationError(
                f"[metrics] directory: {path} is none of its files; name a directory that holds "
                "nothing else"
            )


@cache  # the one of this process, however often the configuration is read again
def _temporary() -> Path:
    directory = Path(tempfile.mkdtemp(prefix="placement-metrics-"))
    maker = os.getpid()

    def remove() -> None:
        if os.getpid() == maker:  # not in a worker, which has inherited this
            shutil.rmtree(directory, ignore_errors=True)

    atexit.register(remove)
    return directory


def give_to(directory: Path, user: int, group: int) -> None:
    """Make the directory and what is in it that of a user; nothing is done if it is this one's."""
    if user != os.geteuid():
        for path in (directory, *directory.iterdir()):
            os.chown(path, user, group)


def processes(directory: Path) -> dict[int, Path]:
    """Return the processes that live and count, each with the file of its that was written last."""
    files: dict[int, Path] = {}
    for path in sorted(directory.glob("*.db"), key=_written):
        process = path.stem.rpartition("_")[2]
        if process != GONE and _lives(int(process)):
            files[int(process)] = path
    return files


def _written(path: Path) -> float:
    return path.stat().st_mtime


def _lock(directory: Path) -> TextIO:
    # Made again where somebody tidies directories for temporary files.
    return (directory / "lock").open("a")


@contextmanager
def reading(directory: Path) -> Iterator[None]:
    """Keep files from being folded meanwhile."""
    with _lock(directory) as lock:
        fcntl.flock(lock, fcntl.LOCK_SH)
        yield


def fold(directory: Path) -> None:
    """Add what processes that are gone have counted to one file, and forget their gauges.

    Without this, each worker that was replaced would leave files for ever. Nothing is done while
    somebody reads, or folds: the next one does it.
    """
    with _lock(directory) as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return
        for path in directory.glob("*.db"):
            kind, _, process = path.stem.partition("_")
            process = process.rpartition("_")[2]
            if process == GONE or _lives(int(process)):
                continue
            if kind != "gauge":
                try:
                    _add(path, directory / f"{kind}_{GONE}.db")
                except OSError as error:
                    LOG.error("%s is not added to the sums yet: %s", path, error)
                    continue
            path.unlink()


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


def _add(path: Path, total: Path) -> None:
    # The library finds its directory in the environment when it is imported.
    from placement.compat import prometheus  # noqa: PLC0415

    prometheus.add_to_file(total, prometheus.read_file(path))
