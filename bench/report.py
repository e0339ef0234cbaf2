"""Results of scenarios as lines, JSON and tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from bench import aims, growth
from bench.aims import Row
from bench.measure import Figures
from bench.scenario import Scenario
from bench.tables import Cell, Table, figure, shown


class Results:
    """Gathers figures and writes them into a directory. others: further measured servers."""

    def __init__(self, engine: str, directory: Path, others: Sequence[str]) -> None:
        self._engine = engine
        self._directory = directory
        self._others = others
        self._rows: list[dict[str, object]] = []

    def add(
        self, scenario: Scenario, figures: Mapping[str, Figures], memory: Mapping[str, float]
    ) -> None:
        """Add the result of a scenario, and print its line."""
        row: dict[str, object] = {"scenario": scenario.name}
        for side, measured in figures.items():
            row[side] = asdict(measured) | {"peak_mib": memory[side]}
        self._rows.append(row)
        print("  ".join([scenario.name, *map(shown, cells(row, self._others))]), flush=True)

    def finish(self) -> None:
        """Write a table of all rows, one of the rows that have an aim, and one by sizes."""
        every = {str(row["scenario"]): cells(row, self._others) for row in self._rows}
        tables = {"all": Table.of_run(self._engine, "scenario", columns(self._others), every)}
        text = tables["all"].text()
        if any(row["scenario"] in aims.AIMS for row in self._rows):
            tables["aims"] = aims.report(self._rows, self._engine)
            text += f"\n{tables['aims'].text()}{aims.count(tables['aims'])}"
        text += aims.summary(self._rows)
        by_size = growth.by_size(self._engine, self._rows)
        if by_size.rows:
            tables["growth"] = by_size
        for name, table in tables.items():
            table.write(self._directory / f"{self._engine}-{name}.json")
        print(f"\n{text}written to {self._directory}")


def columns(others: Sequence[str]) -> list[str]:
    titles = ["ours ms", "p95", "p99", "longest", "CPU ms", "turns/CPU s", "statements"]
    for other in others:
        each_side = ("ms", "p99", "CPU ms", "turns/CPU s", "statements")
        titles += [f"{other} {each}" for each in each_side]
        titles += [f"times faster than {other}", f"times less CPU than {other}"]
    return [*titles, "MiB"]


def cells(row: Row, others: Sequence[str]) -> list[Cell]:
    ours = row["ours"]
    figures: list[Cell] = [figure(ours[each]) for each in ("median", "p95", "p99", "longest")]
    figures += _cost(ours)
    for other in others:
        beside = row.get(other)
        if beside is None:
            figures += [None] * 7
        else:
            figures += [figure(beside["median"]), figure(beside["p99"]), *_cost(beside)]
            figures.append(figure(aims.times_faster(ours, beside)))
            figures.append(figure(aims.times_less_cpu(ours, beside)))
    return [*figures, figure(ours["peak_mib"])]


def _cost(side: Row) -> tuple[Cell, Cell, Cell]:
    """Return the CPU time of a turn, the turns in a second of one core, and the statements.

    Only MariaDB counts statements.
    """
    statements = figure(side["statements"]) if side["statements"] else None
    return figure(side["cpu"]), figure(1000 / max(side["cpu"], 0.01)), statements
