"""The rows that a release is measured by, what each is to reach, and whether it does.

`python -m bench --only aims --beside ../earlier` measures them: an earlier checkout, this one and
the peer, in turns, in one run.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from bench.tables import Cell, Table, figure

# A row of the results: its name, and for each side that was measured its figures.
Row = Mapping[str, Any]

ROOT = "flat 10,000 hosts x 20 consumers, GET /"  # the base cost of a request
PRIMARY = "mariadb"


class Aim(Protocol):
    """What a row is to reach."""

    def __str__(self) -> str: ...

    def is_met(self, ours: Row, peer: Row | None, rows: Mapping[str, Row]) -> bool:
        """Return whether our figures reach the aim.

        Args:
            ours: The figures of this checkout.
            peer: The figures of the peer; None if the row is not measured there.
            rows: The figures of this checkout, by row.
        """
        ...


@dataclass(frozen=True)
class Times:
    """So many times less than the peer needs, of wall time or CPU."""

    # Minimum ratio to the peer, by time or CPU.
    least: float

    def __str__(self) -> str:
        return f">= {self.least:g} x"

    def is_met(self, ours: Row, peer: Row | None, rows: Mapping[str, Row]) -> bool:
        return peer is not None and times(ours, peer) >= self.least


@dataclass(frozen=True)
class Of:
    """At most so many times what another row needs through the same server, of wall time or CPU."""

    # Maximum ratio to the other row.
    most: float
    row: str
    short: str

    def __str__(self) -> str:
        return f"<= {self.most:g} {self.short}"

    def is_met(self, ours: Row, peer: Row | None, rows: Mapping[str, Row]) -> bool:
        return self.row in rows and 1 / times(ours, rows[self.row]) <= self.most


@dataclass(frozen=True)
class Most:
    """At most so many milliseconds, of wall time or CPU, and so much memory of a worker."""

    # Maximum median in milliseconds.
    milliseconds: float
    # Maximum memory in MiB.
    mib: float

    def __str__(self) -> str:
        return f"<= {self.milliseconds:g} ms, {self.mib:g} MiB"

    def is_met(self, ours: Row, peer: Row | None, rows: Mapping[str, Row]) -> bool:
        quick = min(ours["median"], ours["cpu"]) <= self.milliseconds
        return bool(quick and ours["peak_mib"] <= self.mib)


_FLAT, _SMALL = "flat 10,000 hosts x 20 consumers", "flat 1,000 hosts x 20 consumers"
_SHARING, _NESTED = "sharing 1,000 hosts", "nested 1,000 trees x 7"
_COMPUTES = "computes 1,000 hosts"
_LOOP = f"{_COMPUTES}, scheduler loop, 8 clients"

# Row -> aim on MariaDB. On other engines it is to be no slower than the peer.
AIMS: Mapping[str, Aim | None] = {
    ROOT: None,
    f"{_FLAT}, one provider": Of(1.5, ROOT, "GET /"),
    f"{_FLAT}, limit 10": Of(2, ROOT, "GET /"),
    f"{_FLAT}, limit 1000": Times(450),
    f"{_FLAT}, limit none": Times(70),
    f"{_FLAT}, 3 match, limit 1000": Times(120),
    f"{_FLAT}, providers, all": Times(20),
    f"{_FLAT}, PUT allocations": Times(8.5),
    f"{_FLAT}, DELETE allocations": Times(3.4),
    f"{_FLAT}, claims on one host, 8 clients": Times(10),
    f"{_FLAT}, provisioning a host": Times(6),
    f"{_FLAT}, provisioning a host, 8 clients": Times(6),
    f"{_SMALL}, limit 10": Times(180),
    f"{_SMALL}, limit 1000": Times(60),
    f"{_SMALL}, limit none": Times(60),
    f"{_SMALL}, 3 match, limit 1000": Times(15),
    f"{_SMALL}, providers, all": Times(15),
    _LOOP: Times(70),
    f"{_SMALL}, POST /claims, 8 clients": Of(0.56, _LOOP, "loop"),
    f"{_SHARING}, limit 1000": Times(30),
    f"{_SHARING}, limit none": Times(30),
    f"{_SHARING}, member_of leaves nobody": Times(20),
    f"{_NESTED}, limit 1000": Times(60),
    f"{_NESTED}, limit none": Times(20),
    "nested 10,000 trees x 7, limit none": Most(800, 150),
}

COLUMNS = (
    "before ms", "now ms", "peer ms", "before CPU", "now CPU", "peer CPU",
    "before times", "now times", "now MiB", "aim", "met",
)  # fmt: skip


def times(ours: Row, other: Row) -> float:
    """How many times less we need, by wall time or CPU, whichever is better."""
    return max(times_faster(ours, other), times_less_cpu(ours, other))


def times_faster(ours: Row, other: Row) -> float:
    """How many times faster we are; where clients act at once, how many times more they do."""
    if ours["at_once"] > 1:
        return float(ours["rate"] / other["rate"])
    return float(other["median"] / ours["median"])


def times_less_cpu(ours: Row, other: Row) -> float:
    """How many times less CPU we need."""
    return float(other["cpu"] / max(ours["cpu"], 0.01))


def report(rows: Sequence[Row], engine: str) -> Table:
    """Return the table of all rows that have an aim."""
    rows = [row for row in rows if row["scenario"] in AIMS]
    ours = {row["scenario"]: row["ours"] for row in rows}
    cells = {row["scenario"]: _cells(row, _verdict(row, engine, ours), engine) for row in rows}
    return Table.of_run(engine, "row", COLUMNS, cells)


def count(table: Table) -> str:
    """Return a line with the number of rows of a report that reach their aim."""
    verdicts = [cells[-1] for cells in table.rows.values() if cells[-1]]
    return f"{verdicts.count('yes')} of {len(verdicts)} aims are met\n"


def _aim(row: Row, engine: str) -> Aim | None:
    if engine == PRIMARY:
        return AIMS[row["scenario"]]
    return Times(1) if "peer" in row else None


def _verdict(row: Row, engine: str, rows: Mapping[str, Row]) -> str:
    aim, peer = _aim(row, engine), row.get("peer")
    if aim is None or (isinstance(aim, Times) and peer is None):
        return ""
    return "yes" if aim.is_met(row["ours"], peer, rows) else "no"


def _cells(row: Row, verdict: str, engine: str) -> list[Cell]:
    before, ours, peer = (row.get(side) for side in ("before", "ours", "peer"))
    sides = (before, ours, peer)
    aim = _aim(row, engine)
    return [
        *(figure(side["median"]) if side else None for side in sides),
        *(figure(side["cpu"]) if side else None for side in sides),
        *(figure(times(side, peer)) if side and peer else None for side in (before, ours)),
        figure(row["ours"]["peak_mib"]),
        str(aim) if aim else None,
        verdict or None,
    ]


def summary(rows: Sequence[Row]) -> str:
    """Return a line with the median and the lowest ratio to the peer."""
    ratios = {row["scenario"]: times(row["ours"], row["peer"]) for row in rows if "peer" in row}
    if not ratios:
        return ""
    lowest = min(ratios, key=lambda name: ratios[name])
    return (
        f"beside the peer, by wall or CPU: the median of {len(ratios)} rows is "
        f"{figure(statistics.median(ratios.values()))} times, the lowest is "
        f"{figure(ratios[lowest])} times ({lowest})\n"
    )
