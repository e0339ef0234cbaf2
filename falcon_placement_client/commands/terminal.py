"""The capabilities of a terminal: width, colours, and characters for bars."""

import os
import shutil
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self, TextIO

WIDEST = 120  # columns; longer lines are hard to read
NARROWEST = 40
_COLOURS = {"bold": "1", "dim": "2", "good": "32", "bad": "31"}


@dataclass(frozen=True, slots=True)
class Terminal:
    """The layout of lines."""

    # Columns.
    width: int = 80
    colour: bool = False
    # Character of bars.
    block: str = "█"

    @classmethod
    def of(cls, out: TextIO) -> Self:
        """Return the layout for a stream.

        Colours are used only on a terminal and without NO_COLOR.
        """
        width = shutil.get_terminal_size().columns
        plain = bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"
        return cls(
            min(max(width, NARROWEST), WIDEST),
            out.isatty() and not plain,
            "█" if _can_show(out, "█") else "#",
        )

    def paint(self, text: str, kind: str) -> str:
        """Return the text in the colour of a kind (bold, dim, good, bad), if colours are used."""
        return f"\x1b[{_COLOURS[kind]}m{text}\x1b[0m" if self.colour and text else text

    def bar(self, part: int, total: int, width: int) -> str:
        """Return a bar for a part of a total, padded to the width.

        If the part is above zero, the bar has at least one block.
        """
        blocks = 0 if not part or not total else max(1, round(width * part / total))
        return (self.block * blocks).ljust(width)

    def wrap(self, text: str, indent: str = "", first: str | None = None) -> Iterator[str]:
        """Yield the text in lines of the width.

        Args:
            indent: begins each line.
            first: begins the first line instead of `indent`.
        """
        beginning = indent if first is None else first
        lines = textwrap.wrap(
            text,
            max(self.width, len(indent) + NARROWEST // 2),
            initial_indent=beginning,
            subsequent_indent=indent,
            break_on_hyphens=False,
        )
        yield from lines or [beginning.rstrip()]


def _can_show(out: TextIO, text: str) -> bool:
    try:
        text.encode(out.encoding or "ascii")
    except (UnicodeError, LookupError):
        return False
    return True
