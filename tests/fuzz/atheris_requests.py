"""The same requests, guided by coverage: ``python -m tests.fuzz.atheris_requests -runs=100000``.

This needs atheris (``pip install atheris``), which does not support every Python version. The
options are libFuzzer's options. An input that fails is written to a file. To run it again, pass the
file as an argument.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

try:
    import atheris
except ImportError:
    sys.exit("atheris is not installed: pip install atheris, on a Python that it supports")

with atheris.instrument_imports(include=["placement"]):
    from tests.fuzz.hostile import Hostile
    from tests.fuzz.target import Target


class Bytes:
    """Choices that the fuzzer makes."""

    def __init__(self, data: bytes) -> None:
        self._data = atheris.FuzzedDataProvider(data)

    def random(self) -> float:
        # Bytes that are spent must not make everything go wrong.
        left = self._data.remaining_bytes()
        return float(self._data.ConsumeProbability()) * 0.999 if left else 0.999

    def randrange(self, stop: int, /) -> int:
        return int(self._data.ConsumeIntInRange(0, max(stop - 1, 0)))

    def choice(self, items: Sequence[Any], /) -> Any:
        return items[self.randrange(len(items))]


def main() -> None:
    """Fuzz until all runs are complete or a failure occurs."""
    directory = tempfile.TemporaryDirectory(prefix="atheris-")
    target = Target(Path(directory.name))
    atheris.Setup(sys.argv, lambda data: target.answer(Hostile(Bytes(data)).environ()))
    atheris.Fuzz()


if __name__ == "__main__":
    main()
