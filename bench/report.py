"""Results: a line for each scenario as it is measured, then JSON, a table and a plot."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

from bench.measure import Figures
from bench.scenarios import Scenario

HEAD = (
    "scenario", "ours ms", "p95", "CPU ms", "statements", "peer ms", "CPU ms", "statements",
    "times faster", "less CPU", "target", "MiB", "one query",
)  # fmt: skip

SIZE = re.compile(r" ([\d,]+) (hosts|trees)")


class Results:
    """Gathers figures and writes them into a directory."""

    def __init__(self, engine: str, directory: Path) -> None:
        self._engine = engine
        self._directory = directory
        self._rows: list[dict[str, object]] = []

    def add(
        self,
        scenario: Scenario,
        figures: Mapping[str, Figures],
        memory: Mapping[str, float],
        floor: float | None,
    ) -> None:
        """Note one scenario and print its line; floor: milliseconds of one query and rendering."""
        ours, peer = figures["ours"], figures.get("peer")
        row: dict[str, object] = {
            "scenario": scenario.name,
            "target": scenario.target,
            "ours": asdict(ours) | {"peak_mib": memory["ours"]},
        }
        if peer:
            row["peer"] = asdict(peer) | {"peak_mib": memory["peer"]}
            row["wall_ratio"] = peer.median / ours.median
            if scenario.at_once > 1:
                row["wall_ratio"] = ours.rate / peer.rate
            row["cpu_ratio"] = peer.cpu / max(ours.cpu, 0.01)
        if floor is not None:
            row["floor"] = floor
        self._rows.append(row)
        print("  ".join(cells(row)), flush=True)

    def finish(self) -> None:
        """Write the files."""
        self._directory.mkdir(parents=True, exist_ok=True)
        path = self._directory / f"{self._engine}.json"
        path.write_text(json.dumps(self._rows, indent=1) + "\n")
        (self._directory / f"{self._engine}.txt").write_text(table(self._rows))
        print(f"\n{table(self._rows)}\nwritten to {self._directory}")
        if any(_size(row) for row in self._rows):
            plot(self._rows, self._engine, self._directory / f"{self._engine}.svg")


def cells(row: dict[str, object]) -> list[str]:
    """The row of the table."""
    ours, peer = row["ours"], row.get("peer")
    assert isinstance(ours, dict)
    found = [
        str(row["scenario"]), _number(ours["median"]), _number(ours["p95"]), _number(ours["cpu"]),
        _number(ours["statements"]) if ours["statements"] else "-",
    ]  # fmt: skip
    if isinstance(peer, dict):
        found += [
            _number(peer["median"]), _number(peer["cpu"]),
            _number(peer["statements"]) if peer["statements"] else "-",
            f"{row['wall_ratio']:.1f}", f"{row['cpu_ratio']:.1f}",
        ]  # fmt: skip
    else:
        found += ["-"] * 5
    floor = row.get("floor")
    return [
        *found,
        str(row["target"] or "-"),
        _number(ours["peak_mib"]),
        _number(floor) if isinstance(floor, float) else "-",
    ]


def _number(value: float) -> str:
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}"


def table(rows: list[dict[str, object]]) -> str:
    """A table in reStructuredText."""
    lines = [list(HEAD), *(cells(row) for row in rows)]
    widths = [max(len(line[place]) for line in lines) for place in range(len(HEAD))]
    rule = "  ".join("=" * width for width in widths)
    text = [
        "  ".join(
            cell.ljust(width) if place == 0 else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(line, widths, strict=True))
        )
        for line in lines
    ]
    return "\n".join([rule, text[0], rule, *text[1:], rule, ""])


def _size(row: dict[str, object]) -> tuple[str, int] | None:
    found = SIZE.search(str(row["scenario"]))
    if found is None:
        return None
    name = str(row["scenario"])
    title = name[: found.start()] + name[found.end() :]
    return title, int(found[1].replace(",", ""))


def plot(rows: list[dict[str, object]], engine: str, path: Path) -> None:
    """Draw latency against hosts, both servers, both axes logarithmic."""
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot

    lines: dict[str, dict[str, list[tuple[int, float]]]] = {}
    for row in rows:
        sized = _size(row)
        if sized is None or "limit" not in sized[0] or "8 clients" in sized[0]:
            continue
        for server in ("ours", "peer"):
            figures = row.get(server)
            if isinstance(figures, dict):
                series = lines.setdefault(sized[0], {}).setdefault(server, [])
                series.append((sized[1], float(figures["median"])))
    figure, axes = pyplot.subplots(figsize=(9, 6))
    colours = pyplot.rcParams["axes.prop_cycle"].by_key()["color"]
    for number, (title, servers) in enumerate(lines.items()):
        for server, points in servers.items():
            points.sort()
            axes.plot(
                *zip(*points, strict=True),
                color=colours[number % len(colours)],
                linestyle="-" if server == "ours" else ":",
                marker="o" if server == "ours" else "x",
                label=f"{title}: {server}",
            )
    axes.set(
        xscale="log", yscale="log", xlabel="hosts", ylabel="median latency, ms",
        title=f"GET /allocation_candidates, {engine}",
    )  # fmt: skip
    axes.grid(visible=True, which="both", alpha=0.2)
    axes.legend(fontsize=7, bbox_to_anchor=(1.02, 1), loc="upper left")
    figure.savefig(path, bbox_inches="tight")
