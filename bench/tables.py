"""Tables that are stored as JSON and shown in reStructuredText."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

Cell = float | str | None
RESULTS = Path("bench/results")  # folder in which runs write their tables
WIDTH = 120  # of a line of the documents


@dataclass(frozen=True)
class Table:
    """The figures of one run, and the conditions of the run."""

    # The command that measured them.
    command: str
    # The database, and the driver if it is relevant.
    engine: str
    # Notes on the figures: the machine, the unit, the other servers.
    conditions: str
    # The commit and the date at which the figures were added to the documents.
    recorded: str
    # The heading of the column of names.
    first: str
    # The headings of the other columns.
    columns: Sequence[str]
    # Name -> cells. None if a cell was not measured.
    rows: Mapping[str, Sequence[Cell]]

    @classmethod
    def of_run(
        cls, engine: str, first: str, columns: Sequence[str], rows: Mapping[str, Sequence[Cell]]
    ) -> Table:
        """Create the table of this run, for the commit that is checked out."""
        git = ["git", "log", "-1", "--format=%h, %cs"]
        commit = subprocess.run(git, stdout=subprocess.PIPE, text=True, check=False).stdout
        command = shlex.join(["python", *sys.orig_argv[1:]])
        return cls(command, engine, "", commit.strip(), first, columns, rows)

    def keep(self, name: str) -> None:
        """Print the table of this run, and write it into the folder of results."""
        path = RESULTS / f"{self.engine}-{name}.json"
        self.write(path)
        print(f"\n{self.text()}written to {path}")

    @classmethod
    def read(cls, path: Path) -> Table:
        return cls(**json.loads(path.read_text()))

    def write(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        members = {name: each for name, each in asdict(self).items() if name != "rows"}
        lines = [f"{json.dumps(name)}: {json.dumps(cells)}" for name, cells in self.rows.items()]
        head = json.dumps(members, indent=1)[:-2]
        path.write_text(head + ',\n "rows": {\n  ' + ",\n  ".join(lines) + "\n }\n}\n")

    def origin(self) -> str:
        """Return reStructuredText: what was measured, when and how."""
        how = f"{self.engine}; {self.conditions}" if self.conditions else self.engine
        return textwrap.fill(f"*Commit {self.recorded}, {how}.*", WIDTH) + "\n"

    def text(self) -> str:
        """Return reStructuredText.

        Names and texts are aligned to the left, and numbers to the right.
        """
        lines = [[self.first, *self.columns]]
        lines += [[name, *map(shown, cells)] for name, cells in self.rows.items()]
        texts = {0} | {
            place + 1
            for cells in self.rows.values()
            for place, cell in enumerate(cells)
            if isinstance(cell, str)
        }
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        rule = "  ".join("=" * width for width in widths)
        text = []
        for line in lines:
            cells = (
                cell.ljust(width) if place in texts else cell.rjust(width)
                for place, (cell, width) in enumerate(zip(line, widths, strict=True))
            )
            text.append("  ".join(cells).rstrip())
        return "\n".join([rule, text[0], rule, *text[1:], rule, ""])


def shown(cell: Cell) -> str:
    if cell is None:
        return "–"  # noqa: RUF001
    return f"{cell:,}" if isinstance(cell, int) else str(cell)


def figure(value: float) -> float:
    """Return a number with a suitable number of digits."""
    return round(value) if value >= 100 else round(value, 1)
