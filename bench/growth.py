"""`python -m bench.growth results/*.json`: one picture of how requests grow with the cloud.

Drawn of the rows of `python -m bench --only growth`; clouds may be measured in several runs.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

SIZE = re.compile(r"^light ([\d,]+) hosts x 2 consumers, (.+)$")
# Both stand out from white and from black pages.
COLOURS = ("#2f81f7", "#d2691e", "#2ea043", "#a371f7", "#db3d8a")
GREY = "#808080"
DRAWN = ("limit 10", "limit 1000", "3 match, limit 10", "PUT allocations",
         "first page of providers")  # fmt: skip

Points = dict[int, float]  # hosts -> milliseconds


def series(rows: Iterable[Mapping[str, Any]]) -> dict[tuple[str, str], Points]:
    """Return (request, side) -> what it takes, of ours and of the peer; the last run counts."""
    lines: dict[tuple[str, str], Points] = {}
    for row in rows:
        named = SIZE.match(row["scenario"])
        if named is None or named[2] not in DRAWN:
            continue
        for side in ("ours", "peer"):
            if side in row:
                points = lines.setdefault((named[2], side), {})
                points[int(named[1].replace(",", ""))] = row[side]["median"]
    return lines


def draw(lines: Mapping[tuple[str, str], Points], engine: str, path: Path) -> None:
    """Draw latency against hosts, both axes logarithmic, without a background."""
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot
    from matplotlib.ticker import FuncFormatter

    pyplot.rcParams |= {
        "svg.fonttype": "none", "svg.hashsalt": "growth", "text.color": GREY,
        "axes.labelcolor": GREY, "axes.edgecolor": GREY, "xtick.color": GREY,
        "ytick.color": GREY, "font.family": "sans-serif",
    }  # fmt: skip
    figure, axes = pyplot.subplots(figsize=(9, 5.5))
    for colour, request in zip(COLOURS, DRAWN, strict=True):
        for side, style, marker in (("ours", "-", "o"), ("peer", ":", "x")):
            points = sorted(lines.get((request, side), {}).items())
            if points:
                axes.plot(
                    *zip(*points, strict=True), color=colour, linestyle=style, marker=marker,
                    linewidth=2, label=request if side == "ours" else f"{request}, peer",
                )  # fmt: skip
    axes.set(xscale="log", yscale="log", xlabel="hosts", ylabel="median, milliseconds",
             title=f"Requests and the size of a cloud, {engine}")  # fmt: skip
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(FuncFormatter(lambda value, _place: f"{value:,.12g}"))
    axes.grid(visible=True, which="major", color=GREY, alpha=0.3)
    axes.legend(fontsize=9, frameon=False, bbox_to_anchor=(1.02, 1), loc="upper left")
    figure.savefig(path, bbox_inches="tight", transparent=True, metadata={"Date": None})


def main() -> None:
    """Draw what the files have."""
    parser = argparse.ArgumentParser(prog="python -m bench.growth", description=__doc__)
    parser.add_argument("results", type=Path, nargs="+", help="JSON; later files count for more")
    parser.add_argument("--output", type=Path, default=Path("bench/growth.svg"))
    options = parser.parse_args()
    runs = [json.loads(path.read_text()) for path in options.results]
    engines = sorted({run["engine"] for run in runs})
    if len(engines) > 1:
        parser.error(f"results of several engines: {', '.join(engines)}")
    draw(series(row for run in runs for row in run["rows"]), engines[0], options.output)


if __name__ == "__main__":
    main()
