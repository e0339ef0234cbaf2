"""Repairs of the rows that `checks` finds. Services may run concurrently.

Each repair first reads the affected rows without locks. It then repairs a few of them at a time, in
transactions that acquire the usual locks and read these rows again. Therefore, a request waits only
for a short transaction, and rows that other transactions have changed are not overwritten.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from sqlalchemy.engine import Connection

from placement.db.engine import Database
from placement.db.statements import integrity as statements
from placement.objects import allocations, claim_records, derived
from placement.objects.consumers import Consumer
from placement.objects.derived import Corrections
from placement.operate import ancestry, online_migrations
from placement.runtime.progress import Progress, silent

# Maximum number of rows that one transaction repairs.
ROWS_PER_TRANSACTION = 200


class Repair(NamedTuple):
    """The input of a repair."""

    database: Database
    # Project and user for consumers without a record.
    consumer_owner: tuple[str, str]
    progress: Progress = silent

    def run(
        self,
        find: Callable[[Connection], Sequence[Any]],
        write: Callable[[Sequence[Any], Connection], object],
    ) -> None:
        """Find rows, and write them, a few in each transaction."""
        # A replica may not contain the previous repair.
        with self.database.primary().read() as conn:
            rows = find(conn)
        for start in range(0, len(rows), ROWS_PER_TRANSACTION):
            chunk = rows[start : start + ROWS_PER_TRANSACTION]
            self.database.write(partial(write, chunk))


def correct_roots(repair: Repair) -> None:
    """Set the roots of providers by their parents, and remove parents that do not exist."""

    def find(conn: Connection) -> Sequence[int]:
        providers = ancestry.read_all(conn)
        return sorted(providers.lineage.orphans | providers.wrong_roots.keys())

    repair.run(find, lambda ids, conn: ancestry.correct(conn, ids))


def delete_lost(kind: str) -> Callable[[Repair], None]:
    """Return the repair that deletes rows of a kind that refer to a missing row."""

    def delete(rows: Sequence[Any], conn: Connection) -> None:
        # A view may be torn. Rows that are lost in two views are certainly lost, because ids are
        # not reused while other transactions run.
        still_lost = statements.lost_among(kind, rows).rows(conn)
        if still_lost:
            statements.delete_lost(kind, still_lost).execute(conn)

    return lambda repair: repair.run(statements.lost(kind).rows, delete)


def record_consumers(repair: Repair) -> None:
    """Create records for consumers that only have allocations."""

    def record(rows: Sequence[Any], conn: Connection) -> None:
        unrecorded = statements.unrecorded_among([row.consumer for row in rows]).rows(conn)
        uuids = [row.consumer for row in unrecorded]
        online_migrations.record(conn, uuids, repair.consumer_owner)

    repair.run(statements.unrecorded_consumers().rows, record)


def delete_idle_consumers(repair: Repair) -> None:
    """Delete consumers without allocations."""

    def delete(rows: Sequence[Any], conn: Connection) -> None:
        uuids = [row.consumer for row in rows]
        allocations.delete_if(conn, uuids, lambda consumer: not consumer.allocations)

    repair.run(statements.idle_consumers().rows, delete)


def delete_lost_records(repair: Repair) -> None:
    """Delete claim records that belong to no consumer."""
    repair.database.write(claim_records.delete_meaningless)


def heal(repair: Repair) -> Corrections:
    return derived.heal(repair.database, repair.progress)


def delete_unchanged(listed: Sequence[Mapping[str, object]], conn: Connection) -> int:
    """Delete the listed consumers that have not changed since an audit. Return their number.

    The number of statements does not depend on the number of consumers.
    """
    listed_as = {str(row["consumer"]): (row["id"], row["generation"]) for row in listed}

    def unchanged(consumer: Consumer) -> bool:
        # The condition on the id excludes a later consumer with the same UUID, whose generation may
        # be equal.
        return listed_as.get(consumer.uuid) == (consumer.id, consumer.generation)

    return allocations.delete_if(conn, listed_as, unchanged)
