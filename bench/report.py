"""Results: a line for each scenario as it is measured, then JSON and tables."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from bench import aims
from bench.aims import Row
from bench.measure import Figures
from bench.scenarios import Scenario
from bench.tables import figure, table


class Results:
    """Gathers figures and writes them into a directory; others: who is measured beside ours."""

    def __init__(self, engine: str, directory: Path, others: Sequence[str]) -> None:
        self._engine = engine
        self._directory = directory
        self._others = others
        self._rows: list[dict[str, object]] = []

    def add(
        self,
        scenario: Scenario,
        figures: Mapping[str, Figures],
        memory: Mapping[str, float],
        floor: float | None,
    ) -> None:
        """Note one scenario and print its line; floor: milliseconds of one query and rendering."""
        row: dict[str, object] = {"scenario": scenario.name, "target": scenario.target}
        for side, measured in figures.items():
            row[side] = asdict(measured) | {"peak_mib": memory[side]}
        if floor is not None:
            row["floor"] = floor
        self._rows.append(row)
        print("  ".join(cells(row, self._others)), flush=True)

    def finish(self) -> None:
        """Write the files."""
        self._directory.mkdir(parents=True, exist_ok=True)
        text = table(head(self._others), [cells(row, self._others) for row in self._rows])
        if any(row["scenario"] in aims.AIMS for row in self._rows):
            text += f"\n{aims.report(self._rows, self._engine)}"
        text += aims.summary(self._rows)
        (self._directory / f"{self._engine}.txt").write_text(text)
        results = {"engine": self._engine, "rows": self._rows}
        path = self._directory / f"{self._engine}.json"
        path.write_text(json.dumps(results, indent=1) + "\n")
        print(f"\n{text}written to {self._directory}")


def head(others: Sequence[str]) -> list[str]:
    """Return the head of the table of ours beside others."""
    titles = ["scenario", "ours ms", "p95", "CPU ms", "statements"]
    for other in others:
        titles += [f"{other} ms", "CPU ms", "statements", "times faster", "less CPU"]
    return [*titles, "target", "MiB", "one query"]


def cells(row: Row, others: Sequence[str]) -> list[str]:
    """Return the row of the table."""
    ours = row["ours"]
    texts = [row["scenario"], figure(ours["median"]), figure(ours["p95"]), *_cost(ours)]
    for other in others:
        beside = row.get(other)
        if beside is None:
            texts += ["-"] * 5
        else:
            texts += [figure(beside["median"]), *_cost(beside)]
            texts.append(f"{aims.times_faster(ours, beside):.1f}")
            texts.append(f"{aims.times_less_cpu(ours, beside):.1f}")
    floor = row.get("floor")
    texts.append(str(row["target"] or "-"))
    return [*texts, figure(ours["peak_mib"]), "-" if floor is None else figure(floor)]


def _cost(side: Row) -> tuple[str, str]:
    """Return CPU and statements of a turn; only MariaDB counts the latter."""
    return figure(side["cpu"]), figure(side["statements"]) if side["statements"] else "-"
