"""Repairs of the faults that `integrity` finds. Services may run concurrently.

Each repair first reads the affected rows without locks. It then repairs a few of them at a time, in
transactions that acquire the usual locks and read these rows again. Therefore, a request waits only
for a short transaction, and rows that other transactions have changed are not overwritten.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy.engine import Connection

from placement.db.engine import Database
from placement.db.statements import integrity as statements
from placement.objects import allocations, ancestry, claim_records, derived, online_migrations
from placement.objects.consumers import Consumer
from placement.objects.derived import Corrections
from placement.runtime.progress import Progress, silent

# Maximum number of rows that one transaction repairs.
ROWS_PER_TRANSACTION = 200


@dataclass(frozen=True, slots=True)
class Repair:
    """The input of a repair."""

    # The database to repair.
    database: Database
    # Project and user for consumers without a record.
    consumer_owner: tuple[str, str]
    # Shows the progress.
    progress: Progress = silent

    def run(
        self,
        find: Callable[[Connection], Sequence[Any]],
        write: Callable[[Connection, Sequence[Any]], object],
    ) -> None:
        """Find rows, and write them, a few in each transaction."""
        # A replica may not contain the previous repair.
        with self.database.primary().read() as conn:
            rows = find(conn)
        for start in range(0, len(rows), ROWS_PER_TRANSACTION):
            self._write(write, rows[start : start + ROWS_PER_TRANSACTION])

    def _write(
        self, write: Callable[[Connection, Sequence[Any]], object], rows: Sequence[Any]
    ) -> None:
        self.database.write(lambda conn: write(conn, rows))


def correct_roots(repair: Repair) -> None:
    """Set the roots of providers by their parents, and remove parents that do not exist."""

    def find(conn: Connection) -> Sequence[int]:
        providers = ancestry.read_all(conn)
        return sorted(providers.lineage.orphans | providers.wrong_roots.keys())

    def write(conn: Connection, rows: Sequence[int]) -> None:
        ancestry.correct(conn, rows)

    repair.run(find, write)


def delete_lost(kind: str, repair: Repair) -> None:
    """Delete inventories, allocations or associations that refer to a missing row."""

    def find(conn: Connection) -> Sequence[Any]:
        return statements.lost(kind).rows(conn)

    def write(conn: Connection, rows: Sequence[Any]) -> None:
        # A view may be torn. Rows that are lost in two views are certainly lost, because ids are
        # not reused while other transactions run.
        still_lost = statements.lost_among(kind, rows).rows(conn)
        if still_lost:
            statements.delete_lost(kind, still_lost).execute(conn)

    repair.run(find, write)


def record_consumers(repair: Repair) -> None:
    """Create records for consumers that only have allocations."""

    def find(conn: Connection) -> Sequence[str]:
        return [row.consumer for row in statements.unrecorded_consumers().rows(conn)]

    def write(conn: Connection, rows: Sequence[str]) -> None:
        unrecorded = statements.unrecorded_among(rows).rows(conn)
        uuids = [row.consumer for row in unrecorded]
        online_migrations.record(conn, uuids, repair.consumer_owner)

    repair.run(find, write)


def delete_idle_consumers(repair: Repair) -> None:
    """Delete consumers without allocations."""

    def find(conn: Connection) -> Sequence[str]:
        return [row.consumer for row in statements.idle_consumers().rows(conn)]

    def is_idle(consumer: Consumer) -> bool:
        return not consumer.allocations

    def write(conn: Connection, rows: Sequence[str]) -> None:
        allocations.delete_if(conn, rows, is_idle)

    repair.run(find, write)


def delete_lost_records(repair: Repair) -> None:
    """Delete claim records that belong to no consumer."""
    repair.database.write(claim_records.delete_meaningless)


def heal(repair: Repair) -> Corrections:
    """Recompute all derived columns, and renew the revisions of all trees."""
    return derived.heal(repair.database, repair.progress)
