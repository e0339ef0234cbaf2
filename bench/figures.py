"""`python -m bench.figures --write`: put the figures of `bench/kept` into the documents.

In a document, the table that follows the comment `.. figures: NAME` is the one of the file NAME,
or a part of one that `kept/parts.json` describes; `growth.svg` is drawn of another. Without
`--write` the documents that differ are listed, as a test does. A new run writes its tables into
`bench/results`, and `--take` stores one of them.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from bench import growth
from bench.servers import REPOSITORY
from bench.tables import Table

KEPT = Path(__file__).with_name("kept")
PARTS = KEPT / "parts.json"
DOCUMENTS = (
    *("README.rst", "docs/development/bench.rst"),
    *("docs/index.rst", "docs/operations/scaling.rst"),
)
PICTURE = "docs/images/growth.svg"
# A comment, and the table after it; the rules of a table are its lines of "=".
_MARKED = re.compile(
    r"^\.\. figures: (?P<name>[\w-]+)\n\n"
    r"(?:\*Commit [^*]+\*\n\n)?"
    r"(?P<table>(?:=[= ]+\n.+\n=[= ]+\n(?:[^=\n].*\n)+=[= ]+\n)?)",
    re.MULTILINE,
)


def kept() -> dict[str, Table]:
    tables = {path.stem: Table.read(path) for path in KEPT.glob("*.json") if path != PARTS}
    parts = json.loads(PARTS.read_text())
    return tables | {name: part(tables[each["of"]], each) for name, each in parts.items()}


def part(table: Table, shown: Mapping[str, Any]) -> Table:
    """Return some rows and columns of a table, under other names.

    shown: `rows` and `columns`, each name there -> name here. Raises KeyError for one that the
    table does not have.
    """
    places = {column: place for place, column in enumerate(table.columns)}
    chosen = [places[name] for name in shown["columns"]]
    rows = {
        here: [table.rows[there][place] for place in chosen]
        for there, here in shown["rows"].items()
    }
    columns = list(shown["columns"].values())
    return replace(table, first=shown["first"], columns=columns, rows=rows)


def documents() -> dict[Path, str]:
    """Return path -> the expected text, for each document."""
    tables = kept()

    def filled(match: re.Match[str]) -> str:
        blank = "" if match["table"] else "\n"  # the position after a new table
        table = tables[match["name"]]
        return f".. figures: {match['name']}\n\n{table.origin()}\n{table.text()}{blank}"

    paths = [REPOSITORY / name for name in DOCUMENTS]
    texts = {path: _MARKED.sub(filled, path.read_text()) for path in paths}
    return texts | {REPOSITORY / PICTURE: growth.draw(tables["growth"])}


def take(result: Path, name: str, conditions: str | None) -> None:
    """Replace the rows of a stored table by those of a run.

    Args:
        result: the table of the run.
        name: the name of the stored table. Its columns remain; without one, all are stored.
        conditions: the conditions of the run, or None if they remain.
    """
    run, path = Table.read(result), KEPT / f"{name}.json"
    before = Table.read(path) if path.exists() else run
    same = {"first": before.first, "columns": {each: each for each in before.columns}}
    rows = part(run, {**same, "rows": {each: each for each in run.rows}}).rows
    noted = before.conditions if conditions is None else conditions
    recorded = {"command": run.command, "recorded": run.recorded, "conditions": noted}
    replace(before, rows=rows, **recorded).write(path)


def outdated() -> Iterator[Path]:
    """Yield the files that differ from the stored tables."""
    for path, text in documents().items():
        if path.read_text() != text:
            yield path


def main() -> int:
    """Write the documents, or list outdated documents."""
    parser = argparse.ArgumentParser(prog="python -m bench.figures", description=__doc__)
    parser.add_argument("--write", action="store_true", help="write what differs")
    parser.add_argument("--take", nargs=2, metavar=("RESULT", "NAME"), help="a table of a run")
    parser.add_argument("--conditions", help="the conditions of this run")
    options = parser.parse_args()
    if options.take:
        take(Path(options.take[0]), options.take[1], options.conditions)
    write = options.write or bool(options.take)
    paths = list(outdated())
    for path in paths:
        print(path.relative_to(REPOSITORY))
        if write:
            path.write_text(documents()[path])
    return 0 if write else len(paths) > 0


if __name__ == "__main__":
    sys.exit(main())
