"""What prometheus-client has no public function for.

The library looks for its directory in the environment when it is imported, and so when this is.
"""

from pathlib import Path

from prometheus_client import values
from prometheus_client.mmap_dict import MmapedDict


def count_in_files() -> None:
    """Count in files that processes share, even if the library was imported without a directory."""
    if not values.ValueClass._multiprocess:
        values.ValueClass = values.MultiProcessValue()


def count_in_new_files() -> None:
    """Close the files of this process, and count in new ones from here on."""
    values.close_all_multiprocess_files()
    values.ValueClass = values.MultiProcessValue()


def read_file(path: Path) -> dict[str, float]:
    """Return what a file has counted, by the library's text of name and labels."""
    rows = MmapedDict.read_all_values_from_file(str(path))
    return {key: value for key, value, _timestamp, _position in rows}


def add_to_file(path: Path, counts: dict[str, float]) -> None:
    """Add counts to those of a file, which is made if it does not exist."""
    sums = MmapedDict(str(path))
    try:
        for key, value in counts.items():
            sums.write_value(key, sums.read_value(key)[0] + value, 0.0)
    finally:
        sums.close()
