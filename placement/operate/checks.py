"""The catalogue of states of a database that an operator should know.

`db check` lists `FAULTS`. They accumulate over years of operation, or are caused by other software
or operators that write to the database. `audit` lists `REVIEWS`: states that the API allows.

Each repair first reads the affected rows without locks. It then repairs a few of them at a time, in
transactions that acquire the usual locks and read these rows again. Therefore, a request waits only
for a short transaction, and rows that other transactions have changed are not overwritten.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from sqlalchemy.engine import Connection

from placement.db.engine import Database
from placement.db.statements import audit as audit_statements
from placement.db.statements import derived as derived_statements
from placement.db.statements import integrity as statements
from placement.objects import allocations, claim_records, derived
from placement.objects.consumers import Consumer
from placement.objects.derived import Corrections
from placement.operate import ancestry, findings, online_migrations
from placement.operate.findings import WITHOUT_OWNER, Find, Finding, Inspection
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


EXAMPLES = 3  # default number of rows that `db check` shows for a fault


@dataclass(frozen=True, slots=True)
class Check:
    """A check for rows of one kind."""

    # Name of the check in the output and on the command line.
    name: str
    # Description of the rows.
    meaning: str
    find: Find
    # The effect of `repair`, or how an operator can repair the rows if there is no `repair`.
    remedy: str = ""
    # Function that repairs the rows, or None.
    repair: Callable[[Repair], object] | None = None
    # Whether the rows are wrong. Otherwise, they are only information.
    wrong: bool = True


def _lost_rows(kind: str, meaning: str) -> Check:
    """Return a check of rows that refer to a missing row."""
    find = findings.counted(partial(statements.lost, kind))
    return Check(f"lost-{kind}", meaning, find, "they are deleted", delete_lost(kind))


# In the order of repair, because a repair may delete rows that have a later fault. Faults that are
# not wrong do not affect an inventory, a usage or a claim of another consumer.
FAULTS = (
    Check(
        "parents",
        "providers whose parent does not exist",
        findings.providers(lambda ancestry: ancestry.lineage.orphans),
        "they become roots",
        correct_roots,
    ),
    Check(
        "loops",
        "providers whose chain of parents is a loop",
        findings.providers(lambda ancestry: ancestry.lineage.cyclic),
        "set parent_provider_id of one provider of each loop to NULL, and check again",
    ),
    Check(
        "roots",
        "providers whose root is not the top of their tree",
        findings.providers(lambda ancestry: ancestry.wrong_roots),
        "root_provider_id is set",
        correct_roots,
    ),
    _lost_rows("inventories", "inventories whose provider does not exist"),
    _lost_rows("allocations", "allocations whose provider does not exist"),
    _lost_rows("traits", "associations whose provider or trait does not exist"),
    _lost_rows("aggregates", "associations whose provider or aggregate does not exist"),
    Check(
        "unknown-classes",
        "inventories whose resource class does not exist",
        findings.counted(statements.inventories_of_unknown_class),
        "insert the class under its old id, or delete them",
    ),
    Check(
        "no-inventory",
        "allocations whose inventory does not exist",
        findings.counted(statements.allocations_without_inventory),
        "set the provider's inventory again, or delete the consumer's allocations",
    ),
    Check(
        "no-consumer",
        "consumers that have allocations and no record",
        findings.counted(statements.unrecorded_consumers),
        "records are created, with the project and user for incomplete consumers",
        record_consumers,
    ),
    Check(
        "idle-consumers",
        "consumers without allocations",
        findings.counted(statements.idle_consumers),
        "they are deleted",
        delete_idle_consumers,
        wrong=False,
    ),
    Check(
        "lost-records",
        "claim records whose consumer does not exist",
        findings.counted(statements.records_without_consumer),
        "they are deleted",
        delete_lost_records,
        wrong=False,
    ),
    Check(
        "ended-holds",
        "holds that have expired and are not released yet",
        findings.counted(statements.ended_holds),
        "a service releases them within a minute, or placement-manage holds release",
        wrong=False,
    ),
    Check(
        "no-owner",
        "consumers whose project or user does not exist",
        findings.counted(statements.unowned_consumers),
        "write the consumers' allocations again",
    ),
    Check(
        "revision",
        "trees that have no revision",
        findings.counted(derived_statements.roots_without_revision),
        "every tree gets a new revision",
        heal,
    ),
    Check(
        "used",
        "inventories whose `used` is not the sum of their allocations",
        findings.inventories(derived.wrong_used),
        "`used` is recomputed",
        heal,
    ),
    Check(
        "capacity",
        "inventories whose `capacity` does not match their amounts",
        findings.inventories(derived.wrong_capacities),
        "`capacity` is recomputed",
        heal,
    ),
    Check(
        "overcommitted",
        "inventories whose usage exceeds their capacity",
        findings.counted(audit_statements.over_capacity),
        "allowed; no further claims fit until enough is released",
        wrong=False,
    ),
)

REVIEWS = (
    Check(
        "over-capacity",
        "inventories whose usage exceeds their capacity",
        findings.selected(audit_statements.over_capacity),
    ),
    Check(WITHOUT_OWNER, "consumers whose owner is not in the list", findings.without_owner),
    Check(
        "several-trees",
        "consumers with allocations in several trees (sharing providers do not count)",
        findings.on_several_trees,
    ),
    Check(
        "spread-groups",
        "hosts with more members of a spread group than the smallest max_per_host of the members",
        findings.selected(audit_statements.crowded_hosts),
    ),
    Check(
        "without-nova",
        "hosts that lack the trait OWNER_NOVA, which other hosts have",
        findings.selected(audit_statements.hosts_without_nova),
    ),
    Check(
        "exclusive",
        "devices that serve in several ways, although [placement] exclusive allows one at a time",
        findings.used_in_several_ways,
    ),
    Check(
        "empty-projects",
        "projects that have no consumers",
        findings.selected(audit_statements.empty_projects),
        wrong=False,
    ),
)


def find_faults(
    conn: Connection, limit: int | None = EXAMPLES, progress: Progress = silent
) -> list[tuple[Check, Finding]]:
    """Return the faults of the database, each with up to `limit` rows. None means all rows."""
    inspection = Inspection(conn, limit)
    with progress(FAULTS, "kinds of faults") as checks:
        found = [(check, check.find(inspection)) for check in checks]
    return [(check, finding) for check, finding in found if finding.count]


def repair(
    database: Database, consumer_owner: tuple[str, str], progress: Progress = silent
) -> Corrections:
    """Repair all faults that can be repaired automatically, while services may run.

    The revisions of all trees are renewed, even if there are no faults: a change by SQL may be
    correct in the database, and missing in the trees that processes have cached.
    """
    task = Repair(database, consumer_owner, progress)
    # Several faults have the same repair. Derived columns depend on all other repairs.
    functions = dict.fromkeys(check.repair for check in FAULTS if check.repair is not None)
    functions.pop(heal)
    with progress(list(functions), "kinds of repairs") as steps:
        for step in steps:
            step(task)
    return heal(task)
