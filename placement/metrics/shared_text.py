"""A part of the metrics as text, cached in a file that all processes of the service share."""

import fcntl
import time
from collections.abc import Callable
from pathlib import Path


class SharedText:
    """A cached text, which only one process at a time creates again."""

    def __init__(self, directory: Path, name: str, keep: float) -> None:
        """Set up the cache.

        Args:
            directory: directory of the metrics.
            name: base name of the files, without the extension.
            keep: seconds for which a text is valid.
        """
        # The file that contains the text.
        self._file = directory / f"{name}.txt"
        # The file that a process locks while it makes the text.
        self._lock = directory / f"{name}.lock"
        self._keep = keep

    def text(self, make: Callable[[bytes | None], bytes]) -> bytes:
        """Return the text, which is created again if the cached text is too old.

        While another process or thread creates it, the previous text is returned, or the call waits
        if there is none. An error of `make` is raised, and the cached text remains.

        Args:
            make: returns a new text, given the previous one or None.
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
            if self._is_fresh():  # another process created it while this one waited
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
