"""Find and repair faults in a database.

Faults accumulate over years of operation, or are caused by other software that writes to the
database. `CHECKS` lists them in the order of repair, because a repair may delete rows that have a
later fault.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import islice

from sqlalchemy.engine import Connection

from placement.db.statement import CHUNK_SIZE, Query
from placement.db.statements import derived as derived_statements
from placement.db.statements import integrity as statements
from placement.objects import claim_records, derived, lineage, locking, online_migrations
from placement.objects.lineage import Lineage
from placement.progress import Progress, silent

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
    # Project and user for consumers without a record.
    consumer_owner: tuple[str, str]
    # Maximum number of rows to show for each fault, or None for all.
    limit: int | None = EXAMPLES
    # Provider id -> uuid.
    _uuids: dict[int, str] = field(default_factory=dict)
    # Provider id -> parent id.
    _parents: dict[int, int | None] = field(default_factory=dict)
    # Provider id -> root id.
    _roots: dict[int, int | None] = field(default_factory=dict)

    @cached_property
    def lineage(self) -> Lineage:
        """The roots of all providers, computed from their parents."""
        last_id = -1
        while rows := statements.forest(last_id, CHUNK_SIZE).rows(self.conn):
            for row in rows:
                self._uuids[row.id] = row.uuid
                self._parents[row.id] = row.parent_id
                self._roots[row.id] = row.root_id
            last_id = rows[-1].id
        return lineage.trace(self._parents)

    @cached_property
    def wrong_roots(self) -> Mapping[int, int]:
        """Provider id -> correct root id, for providers whose row contains another root."""
        return {
            provider_id: root_id
            for provider_id, root_id in self.lineage.roots.items()
            if self._roots[provider_id] != root_id
        }

    def describe_providers(self, ids: Collection[int]) -> Finding:
        """Return a finding with these providers, in the order of their ids."""
        shown_ids = islice(sorted(ids), self.limit)
        return Finding(len(ids), [{"provider": self._uuids[row_id]} for row_id in shown_ids])

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

    def describe_inventories(self, corrections: Iterable[Mapping[int, int]]) -> Finding:
        """Return a finding with inventories. corrections: chunks of id -> correct value."""
        right_values: dict[int, int] = {}
        for chunk in corrections:
            right_values.update(chunk)
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
    mend: Callable[[Inspection], object] | None = None
    # Whether the fault affects an inventory, a usage or a claim of another consumer.
    wrong: bool = True


def _rows_of(query: Callable[[], Query]) -> Callable[[Inspection], Finding]:
    """Return a function that finds the rows that a statement selects."""
    return lambda inspection: inspection.describe_rows(query())


def _detach_orphans(inspection: Inspection) -> None:
    statements.detach(inspection.lineage.orphans).execute(inspection.conn)


def _set_roots(inspection: Inspection) -> None:
    statements.set_roots(inspection.wrong_roots).execute(inspection.conn)
    # Trees that have gained or lost members. Orphans have become roots.
    changed_roots = inspection.lineage.orphans.union(inspection.wrong_roots.values())
    locking.renew_revisions(inspection.conn, changed_roots)


def _record_consumers(inspection: Inspection) -> None:
    owner = inspection.consumer_owner
    online_migrations.record_consumers(inspection.conn, None, owner)


def _delete_idle_consumers(inspection: Inspection) -> None:
    count = inspection.count(statements.idle_consumers())
    statements.delete_idle_consumers(count).execute(inspection.conn)


def _dangling_rows(kind: str, name: str, meaning: str) -> IntegrityCheck:
    """Return a check that deletes rows that refer to a missing row."""

    def delete(inspection: Inspection) -> None:
        """Delete all such rows."""
        count = inspection.count(statements.lost(kind))
        statements.delete_lost(kind, count).execute(inspection.conn)

    return IntegrityCheck(
        name, meaning, _rows_of(partial(statements.lost, kind)), "they are deleted", delete
    )


CHECKS = (
    # This fault is repaired first, because a new revision locks its tree until the transaction
    # ends.
    IntegrityCheck(
        "revision",
        "trees that have no revision",
        _rows_of(derived_statements.roots_without_revision),
        "every tree gets a new revision",
        lambda inspection: derived.renew_all_revisions(inspection.conn),
    ),
    IntegrityCheck(
        "parents",
        "providers whose parent does not exist",
        lambda inspection: inspection.describe_providers(inspection.lineage.orphans),
        "they become roots",
        _detach_orphans,
    ),
    IntegrityCheck(
        "loops",
        "providers whose chain of parents is a loop",
        lambda inspection: inspection.describe_providers(inspection.lineage.cyclic),
        "set parent_provider_id of one provider of each loop to NULL, and check again",
    ),
    IntegrityCheck(
        "roots",
        "providers whose root is not the top of their tree",
        lambda inspection: inspection.describe_providers(inspection.wrong_roots),
        "root_provider_id is set",
        _set_roots,
    ),
    _dangling_rows("inventories", "lost-inventories", "inventories whose provider does not exist"),
    _dangling_rows("allocations", "lost-allocations", "allocations whose provider does not exist"),
    _dangling_rows("traits", "lost-traits", "associations whose provider or trait does not exist"),
    _dangling_rows(
        "aggregates", "lost-aggregates", "associations whose provider or aggregate does not exist"
    ),
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
        _record_consumers,
    ),
    IntegrityCheck(
        "idle-consumers",
        "consumers without allocations",
        _rows_of(statements.idle_consumers),
        "they are deleted",
        _delete_idle_consumers,
        wrong=False,
    ),
    IntegrityCheck(
        "lost-records",
        "claim records whose consumer does not exist",
        _rows_of(statements.records_without_consumer),
        "they are deleted",
        lambda inspection: claim_records.delete_meaningless(inspection.conn),
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
        "used",
        "inventories whose `used` is not the sum of their allocations",
        lambda inspection: inspection.describe_inventories(derived.wrong_used(inspection.conn)),
        "`used` is recomputed",
        lambda inspection: derived.correct_used(inspection.conn),
    ),
    IntegrityCheck(
        "capacity",
        "inventories whose `capacity` does not match their amounts",
        lambda inspection: inspection.describe_inventories(
            derived.wrong_capacities(inspection.conn)
        ),
        "`capacity` is recomputed",
        lambda inspection: derived.correct_capacity(inspection.conn),
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
    conn: Connection,
    consumer_owner: tuple[str, str],
    limit: int | None = EXAMPLES,
    progress: Progress = silent,
) -> list[tuple[IntegrityCheck, Finding]]:
    """Return the faults of the database, each with up to `limit` rows. None means all rows."""
    inspection = Inspection(conn, consumer_owner, limit)
    with progress(CHECKS, "kinds of faults") as checks:
        findings = [(check, check.find(inspection)) for check in checks]
    return [(check, finding) for check, finding in findings if finding.count]


def mend(conn: Connection, consumer_owner: tuple[str, str], progress: Progress = silent) -> None:
    """Repair all faults that can be repaired automatically. All trees are locked."""
    inspection = Inspection(conn, consumer_owner)
    with progress(CHECKS, "kinds of faults") as checks:
        for check in checks:
            if check.mend is not None:
                check.mend(inspection)
