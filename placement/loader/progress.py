"""How far a long piece of work is: a bar on a terminal, a few lines elsewhere."""

import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol, TextIO, TypeVar

from tqdm import tqdm

PLAIN_LINES = 4

Item = TypeVar("Item")


class Progress(Protocol):
    """Takes what there is to work on, and its noun."""

    def __call__(self, items: Sequence[Item], noun: str) -> AbstractContextManager[Iterable[Item]]:
        """Return a context that yields the items one by one and shows how far it is."""


def progress(verb: str, out: TextIO) -> Progress:
    """Return what shows on `out` how far the work is, such as `loading: 5 of 20 providers`."""

    def bar(items: Sequence[Item], noun: str) -> AbstractContextManager[Iterable[Item]]:
        # A terminal that does not know its width would get an empty bar from tqdm.
        width = min(shutil.get_terminal_size().columns, 100)
        return tqdm(items, desc=verb, unit=f" {noun}", file=out, ncols=width)

    @contextmanager
    def lines(items: Sequence[Item], noun: str) -> Iterator[Iterable[Item]]:
        yield _with_lines(items, f"{verb}: {{}} of {len(items)} {noun}", out)

    return bar if out.isatty() else lines


def _with_lines(items: Sequence[Item], line: str, out: TextIO) -> Iterator[Item]:
    every = max(1, -(-len(items) // PLAIN_LINES))
    for done, item in enumerate(items, 1):
        yield item
        if done % every == 0 or done == len(items):
            print(line.format(done), file=out, flush=True)
