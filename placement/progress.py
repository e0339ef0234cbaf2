"""How far a long piece of work is: a bar on a terminal, a few lines elsewhere."""

import shutil
from collections.abc import Iterable, Iterator, Sized
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol, TextIO, TypeVar

from tqdm import tqdm

PLAIN_LINES = 4

Item = TypeVar("Item")


class Progress(Protocol):
    """Takes what there is to work on, its noun, and how much it is where it has no length."""

    def __call__(
        self, items: Iterable[Item], noun: str, total: int | None = None
    ) -> AbstractContextManager[Iterable[Item]]:
        """Return a context that yields the items one by one and shows how far it is."""


def progress(verb: str, out: TextIO) -> Progress:
    """Return what shows on `out` how far the work is, such as `loading: 5 of 20 providers`."""

    def bar(
        items: Iterable[Item], noun: str, total: int | None = None
    ) -> AbstractContextManager[Iterable[Item]]:
        # A terminal that does not know its width would get an empty bar from tqdm.
        width = min(shutil.get_terminal_size().columns, 100)
        return tqdm(items, total=total, desc=verb, unit=f" {noun}", file=out, ncols=width)

    @contextmanager
    def lines(
        items: Iterable[Item], noun: str, total: int | None = None
    ) -> Iterator[Iterable[Item]]:
        if total is None:
            total = len(items) if isinstance(items, Sized) else 0
        yield _with_lines(items, total, f"{verb}: {{}} of {total} {noun}", out)

    return bar if out.isatty() else lines


def _with_lines(items: Iterable[Item], total: int, line: str, out: TextIO) -> Iterator[Item]:
    every = max(1, -(-total // PLAIN_LINES))
    for done, item in enumerate(items, 1):
        yield item
        if done % every == 0 or done == total:
            print(line.format(done), file=out, flush=True)
