"""The progress of long operations: a bar on a terminal, and a few lines elsewhere."""

import shutil
import time
from collections.abc import Iterable, Iterator, Sized
from contextlib import AbstractContextManager, contextmanager, nullcontext
from importlib.util import find_spec
from typing import Protocol, TextIO, TypeVar

PLAIN_LINES = 4

Item = TypeVar("Item")


class Progress(Protocol):
    """Shows the progress of an iteration.

    It takes the noun of the items, and their number if needed.
    """

    def __call__(
        self, items: Iterable[Item], noun: str, total: int | None = None
    ) -> AbstractContextManager[Iterable[Item]]:
        """Return a context that yields the items one by one and shows the progress."""


def progress(verb: str, out: TextIO, patience: float = 0) -> Progress:
    """Return a Progress that writes lines such as `loading: 5 of 20 providers`.

    It shows a bar on a terminal if tqdm is installed.

    Args:
        patience: seconds before anything is shown.
    """

    def bar(
        items: Iterable[Item], noun: str, total: int | None = None
    ) -> AbstractContextManager[Iterable[Item]]:
        from tqdm import tqdm  # noqa: PLC0415

        # If the width of a terminal is unknown, tqdm would show an empty bar.
        width = min(shutil.get_terminal_size().columns, 100)
        return tqdm(items, verb, total, file=out, ncols=width, unit=f" {noun}", delay=patience)

    @contextmanager
    def lines(
        items: Iterable[Item], noun: str, total: int | None = None
    ) -> Iterator[Iterable[Item]]:
        if total is None:
            total = len(items) if isinstance(items, Sized) else 0
        yield with_lines(items, total, f"{verb}: {{}} of {total} {noun}")

    def with_lines(items: Iterable[Item], total: int, line: str) -> Iterator[Item]:
        every = max(1, -(-total // PLAIN_LINES))
        began = time.monotonic()
        for done, item in enumerate(items, 1):
            yield item
            if (done % every == 0 or done == total) and time.monotonic() - began >= patience:
                print(line.format(done), file=out, flush=True)

    return bar if out.isatty() and find_spec("tqdm") else lines


class _Silence:
    def __call__(
        self, items: Iterable[Item], noun: str, total: int | None = None
    ) -> AbstractContextManager[Iterable[Item]]:
        return nullcontext(items)


silent: Progress = _Silence()  # shows no progress
