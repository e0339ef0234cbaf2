"""How requests scale with the cloud: a table, and a picture whose axes are logarithmic."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence

from bench.aims import Row
from bench.tables import Cell, Table, figure

# Colours with enough contrast on white and on black pages.
COLOURS = ("#2f81f7", "#d2691e", "#2ea043", "#a371f7", "#db3d8a")
GREY = "#808080"
LEFT, TOP, WIDTH, HEIGHT = 80, 30, 500, 305  # size of the plot area, in pixels
MOST = 5  # end of the time axis as a power of ten; the axis begins at 1 ms
PEER = ", peer"
# The requests in the picture, which would be crowded with all of them.
DRAWN = (
    "limit 10",
    "limit 1000",
    "3 match, limit 10",
    "PUT allocations",
    "first page of providers",
)

_SIZED = re.compile(r"light (?P<hosts>[\d,]+) hosts x 2 consumers, (?P<request>.+)")


def by_size(engine: str, rows: Iterable[Row]) -> Table:
    """Return the medians in ms of the same requests, with a column for each size of the cloud."""
    medians: dict[str, dict[str, Cell]] = {}
    for row in rows:
        scenario = _SIZED.fullmatch(row["scenario"])
        for side, mark in (("ours", ""), ("peer", PEER)):
            if scenario and side in row:
                cells = medians.setdefault(scenario["request"] + mark, {})
                cells[scenario["hosts"]] = figure(row[side]["median"])
    sizes = list(dict.fromkeys(size for cells in medians.values() for size in cells))
    table = {name: [cells.get(size) for size in sizes] for name, cells in medians.items()}
    return Table.of_run(engine, "request", sizes, table)


def draw(table: Table) -> str:
    """Return an SVG of milliseconds by hosts. Rows whose names end with "peer" are dotted."""
    sizes = [math.log10(int(column.replace(",", ""))) for column in table.columns]
    parts = [*_frame(table, sizes)]
    rows = {name: cells for name, cells in table.rows.items() if name.removesuffix(PEER) in DRAWN}
    for place, (name, cells) in enumerate(rows.items()):
        colour = COLOURS[DRAWN.index(name.removesuffix(PEER))]
        dotted = ' stroke-dasharray="2 4"' if name.endswith(PEER) else ""
        style = f'fill="none" stroke="{colour}" stroke-width="2"{dotted}'
        points = list(_points(sizes, cells))
        parts.append(f'<polyline points="{" ".join(points)}" {style}/>')
        x, y = LEFT + WIDTH + 12, TOP + 12 + 16 * place
        parts.append(f'<path d="M{x} {y}h24" {style}/>')
        parts.append(_text(x + 30, y + 4, name, "start"))
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT + WIDTH + 190}" height="385"'
    font = f'font-family="sans-serif" font-size="11" fill="{GREY}"'
    return "\n".join([f"{head} {font}>", *parts, "</svg>", ""])


def _points(sizes: list[float], cells: Sequence[Cell]) -> Iterator[str]:
    for size, cell in zip(sizes, cells, strict=True):
        if isinstance(cell, int | float):
            yield f"{_x(size, sizes):.1f},{_y(math.log10(cell)):.1f}"


def _x(power: float, sizes: list[float]) -> float:
    return LEFT + WIDTH * (0.04 + 0.92 * (power - sizes[0]) / (sizes[-1] - sizes[0]))


def _y(power: float) -> float:
    return TOP + HEIGHT * (MOST - power) / MOST


def _frame(table: Table, sizes: list[float]) -> Iterator[str]:
    """Yield the axes, their titles, and the lines at powers of ten."""
    bottom, middle = TOP + HEIGHT, LEFT + WIDTH / 2
    lines = f'fill="none" stroke="{GREY}"'
    yield f'<path d="M{LEFT} {TOP}V{bottom}H{LEFT + WIDTH}" {lines}/>'
    for power in range(MOST + 1):
        y = _y(power)
        yield f'<path d="M{LEFT} {y:.1f}h{WIDTH}" {lines} stroke-opacity="0.3"/>'
        yield _text(LEFT - 6, y + 4, f"{10**power:,}", "end")
    for size, column in zip(sizes, table.columns, strict=True):
        x = _x(size, sizes)
        yield f'<path d="M{x:.1f} {TOP}V{bottom}" {lines} stroke-opacity="0.3"/>'
        yield _text(x, bottom + 16, column, "middle")
    yield _text(middle, bottom + 36, "hosts", "middle")
    yield _text(middle, TOP - 12, f"Median in milliseconds, {table.engine}", "middle")


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{text}</text>'
