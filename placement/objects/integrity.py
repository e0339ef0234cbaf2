"""Find and repair faults in a database.

Faults accumulate over years of operation, or are caused by other software or operators that write
to the database. `CHECKS` lists them in the order of repair, because a repair may delete rows that
have a later fault.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import islice

from sqlalchemy.engine import Connection

from placement.db.engine import Database
from placement.db.statement import Query
from placement.db.statements import derived as derived_statements
from placement.db.statements import integrity as statements
from placement.objects import ancestry, derived, repairs
from placement.objects.ancestry import Ancestry
from placement.objects.derived import Corrections
from placement.objects.repairs import Repair
from placement.runtime.progress import Progress, silent

EXAMPLES = 3  # default number of rows that are shown for a fault

Example = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Finding:
    """The rows that have a certain fault."""

    # Number of rows.
    count: int
    # Column -> value of the first rows.
    examples: Sequence[Example] = ()


@dataclass(frozen=True)
class Inspection:
    """An inspection of one database."""

    # Connection to the inspected database.
    conn: Connection
    # Maximum number of rows to show for each fault, or None for all.
    limit: int | None = EXAMPLES

    @cached_property
    def ancestry(self) -> Ancestry:
        """All providers with their parents and roots."""
        return ancestry.read_all(self.conn)

    def describe_providers(self, ids: Collection[int]) -> Finding:
        """Return a finding with these providers, in the order of their ids."""
        shown_ids = islice(sorted(ids), self.limit)
        rows = self.ancestry.rows
        return Finding(len(ids), [{"provider": rows[row_id].uuid} for row_id in shown_ids])

    def count(self, query: Query) -> int:
        """Return the number of rows that a statement selects."""
        return int(statements.count(query).value(self.conn))

    def describe_rows(self, query: Query) -> Finding:
        """Return a finding with the rows that a statement selects."""
        count = self.count(query)
        if not count:
            return Finding(0)
        rows = statements.examples(query, self.limit).rows(self.conn)
        return Finding(count, [row._asdict() for row in rows])

    def describe_inventories(
        self, correct: Callable[[Connection, Collection[int]], Mapping[int, int]]
    ) -> Finding:
        """Return a finding with inventories.

        `correct` returns inventory id -> correct value, for the trees with these root ids.
        """
        right_values: dict[int, int] = {}
        for root_ids in derived.windows(self.conn):
            right_values.update(correct(self.conn, root_ids))
        examples: list[Example] = []
        ids = list(islice(sorted(right_values), self.limit))
        for row in statements.numbered_inventories(ids).rows(self.conn):
            columns = row._asdict()
            right = right_values[columns.pop("id")]
            examples.append({**columns, "right": right})
        return Finding(len(right_values), examples)


@dataclass(frozen=True, slots=True)
class IntegrityCheck:
    """A kind of fault."""

    # Name of the fault in the output of `db check`.
    name: str
    # Description of the rows with the fault.
    meaning: str
    # Function that finds the rows with the fault.
    find: Callable[[Inspection], Finding]
    # The effect of `mend`, or how an operator can repair the fault if there is no `mend`.
    remedy: str
    # Function that repairs the fault, or None if an operator has to repair it.
    mend: Callable[[Repair], object] | None = None
    # Whether the fault affects an inventory, a usage or a claim of another consumer.
    wrong: bool = True


def _rows_of(query: Callable[[], Query]) -> Callable[[Inspection], Finding]:
    """Return a function that finds the rows that a statement selects."""
    return lambda inspection: inspection.describe_rows(query())


def _lost_rows(kind: str, meaning: str) -> IntegrityCheck:
    """Return a check of rows that refer to a missing row."""
    find, delete = partial(statements.lost, kind), partial(repairs.delete_lost, kind)
    return IntegrityCheck(f"lost-{kind}", meaning, _rows_of(find), "they are deleted", delete)


CHECKS = (
    IntegrityCheck(
        "parents",
        "providers whose parent does not exist",
        lambda inspection: inspection.describe_providers(inspection.ancestry.lineage.orphans),
        "they become roots",
        repairs.correct_roots,
    ),
    IntegrityCheck(
        "loops",
        "providers whose chain of parents is a loop",
        lambda inspection: inspection.describe_providers(inspection.ancestry.lineage.cyclic),
        "set parent_provider_id of one provider of each loop to NULL, and check again",
    ),
    IntegrityCheck(
        "roots",
        "providers whose root is not the top of their tree",
        lambda inspection: inspection.describe_providers(inspection.ancestry.wrong_roots),
        "root_provider_id is set",
        repairs.correct_roots,
    ),
    _lost_rows("inventories", "inventories whose provider does not exist"),
    _lost_rows("allocations", "allocations whose provider does not exist"),
    _lost_rows("traits", "associations whose provider or trait does not exist"),
    _lost_rows("aggregates", "associations whose provider or aggregate does not exist"),
    IntegrityCheck(
        "unknown-classes",
        "inventories whose resource class does not exist",
        _rows_of(statements.inventories_of_unknown_class),
        "insert the class under its old id, or delete them",
    ),
    IntegrityCheck(
        "no-inventory",
        "allocations whose inventory does not exist",
        _rows_of(statements.allocations_without_inventory),
        "set the provider's inventory again, or delete the consumer's allocations",
    ),
    IntegrityCheck(
        "no-consumer",
        "consumers that have allocations and no record",
        _rows_of(statements.unrecorded_consumers),
        "records are created, with the project and user for incomplete consumers",
        repairs.record_consumers,
    ),
    IntegrityCheck(
        "idle-consumers",
        "consumers without allocations",
        _rows_of(statements.idle_consumers),
        "they are deleted",
        repairs.delete_idle_consumers,
        wrong=False,
    ),
    IntegrityCheck(
        "lost-records",
        "claim records whose consumer does not exist",
        _rows_of(statements.records_without_consumer),
        "they are deleted",
        repairs.delete_lost_records,
        wrong=False,
    ),
    IntegrityCheck(
        "ended-holds",
        "holds that have expired and are not released yet",
        _rows_of(statements.ended_holds),
        "a service releases them within a minute, or placement-manage holds release",
        wrong=False,
    ),
    IntegrityCheck(
        "no-owner",
        "consumers whose project or user does not exist",
        _rows_of(statements.unowned_consumers),
        "write the consumers' allocations again",
    ),
    IntegrityCheck(
        "revision",
        "trees that have no revision",
        _rows_of(derived_statements.roots_without_revision),
        "every tree gets a new revision",
        repairs.heal,
    ),
    IntegrityCheck(
        "used",
        "inventories whose `used` is not the sum of their allocations",
        lambda inspection: inspection.describe_inventories(derived.wrong_used),
        "`used` is recomputed",
        repairs.heal,
    ),
    IntegrityCheck(
        "capacity",
        "inventories whose `capacity` does not match their amounts",
        lambda inspection: inspection.describe_inventories(derived.wrong_capacities),
        "`capacity` is recomputed",
        repairs.heal,
    ),
    IntegrityCheck(
        "overcommitted",
        "inventories whose usage exceeds their capacity",
        _rows_of(statements.overcommitted),
        "allowed; no further claims fit until enough is released",
        wrong=False,
    ),
)


def inspect(
    conn: Connection, limit: int | None = EXAMPLES, progress: Progress = silent
) -> list[tuple[IntegrityCheck, Finding]]:
    """Return the faults of the database, each with up to `limit` rows. None means all rows."""
    inspection = Inspection(conn, limit)
    with progress(CHECKS, "kinds of faults") as checks:
        findings = [(check, check.find(inspection)) for check in checks]
    return [(check, finding) for check, finding in findings if finding.count]


def repair(
    database: Database, consumer_owner: tuple[str, str], progress: Progress = silent
) -> Corrections:
    """Repair all faults that can be repaired automatically, while services may run.

    The revisions of all trees are renewed, even if there are no faults: a change by SQL may be
    correct in the database, and missing in the trees that processes have cached.
    """
    task = Repair(database, consumer_owner, progress)
    # Several faults have the same repair. Derived columns depend on all other repairs.
    mends = dict.fromkeys(check.mend for check in CHECKS if check.mend is not None)
    mends.pop(repairs.heal)
    with progress(list(mends), "kinds of repairs") as steps:
        for mend in steps:
            mend(task)
    return repairs.heal(task)
