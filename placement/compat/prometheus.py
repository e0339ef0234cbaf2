"""Extensions of prometheus-client, where it has no public function.

The library reads its directory from the environment when it is imported, which is when this module
is imported. It creates sparse files: the kernel kills a process (SIGBUS) that writes to one while
the file system is full. Here blocks are allocated first, so a full file system raises OSError
instead.
"""

import mmap
import os
from pathlib import Path

from prometheus_client import values
from prometheus_client.mmap_dict import MmapedDict

FILE_SIZE = 1 << 16  # bytes of a new file, as in the library


class AllocatedFile(MmapedDict):
    """The mapped file of a process for one kind of metric, with all blocks allocated."""

    def __init__(self, filename: str, read_mode: bool = False) -> None:
        """Open a file, and create it if it is missing.  Raises OSError."""
        path = Path(filename)
        if not read_mode and not (path.exists() and path.stat().st_size):
            try:
                with path.open("ab") as file:
                    os.posix_fallocate(file.fileno(), 0, FILE_SIZE)
            except OSError:
                path.unlink(missing_ok=True)  # otherwise, readers would report the file as damaged
                raise
        super().__init__(filename, read_mode)  # type: ignore[no-untyped-call]

    def reserve(self, size: int) -> None:
        """Allocate `size` additional bytes. Raises OSError."""
        capacity = self._capacity
        while self._used + size > capacity:
            capacity *= 2
        if capacity > self._capacity:
            os.posix_fallocate(self._f.fileno(), 0, capacity)
            self._m = mmap.mmap(self._f.fileno(), capacity)
            self._capacity = capacity

    def _init_value(self, key: str) -> None:
        self.reserve(_size_of(key))
        super()._init_value(key)  # type: ignore[no-untyped-call]


def _size_of(key: str) -> int:
    return len(key.encode()) + 32  # length, padding, value and time


def count_in_files() -> None:
    """Count in files that processes share, even if the library was imported without a directory."""
    values.MmapedDict = AllocatedFile  # type: ignore[attr-defined]
    if not values.ValueClass._multiprocess:
        values.ValueClass = values.MultiProcessValue()


def read_file(path: Path) -> dict[str, float]:
    """Return the counts in a file, by the library's text of name and labels."""
    rows = MmapedDict.read_all_values_from_file(str(path))
    return {key: value for key, value, _timestamp, _position in rows}


def add_to_file(path: Path, counts: dict[str, float]) -> None:
    """Add all counts to a file, or none of them.

    Create the file if it is missing. Raises OSError.
    """
    file = AllocatedFile(str(path))
    sums: MmapedDict = file
    try:
        file.reserve(sum(map(_size_of, counts)))
        for key, value in counts.items():
            sums.write_value(key, sums.read_value(key)[0] + value, 0.0)
    finally:
        sums.close()
