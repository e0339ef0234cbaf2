"""The catalogue of states of a database that an operator should know.

`db check` lists `FAULTS`. They accumulate over years of operation, or are caused by other software
or operators that write to the database. `audit` lists `REVIEWS`: states that the API allows.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from sqlalchemy.engine import Connection

from placement.db.engine import Database
from placement.db.statements import audit as audit_statements
from placement.db.statements import derived as derived_statements
from placement.db.statements import integrity as statements
from placement.objects import derived
from placement.objects.derived import Corrections
from placement.operate import findings, repairs
from placement.operate.findings import WITHOUT_OWNER, Find, Finding, Inspection
from placement.operate.repairs import Repair
from placement.runtime.progress import Progress, silent

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
    return Check(f"lost-{kind}", meaning, find, "they are deleted", repairs.delete_lost(kind))


# In the order of repair, because a repair may delete rows that have a later fault. Faults that are
# not wrong do not affect an inventory, a usage or a claim of another consumer.
FAULTS = (
    Check(
        "parents",
        "providers whose parent does not exist",
        findings.providers(lambda ancestry: ancestry.lineage.orphans),
        "they become roots",
        repairs.correct_roots,
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
        repairs.correct_roots,
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
        repairs.record_consumers,
    ),
    Check(
        "idle-consumers",
        "consumers without allocations",
        findings.counted(statements.idle_consumers),
        "they are deleted",
        repairs.delete_idle_consumers,
        wrong=False,
    ),
    Check(
        "lost-records",
        "claim records whose consumer does not exist",
        findings.counted(statements.records_without_consumer),
        "they are deleted",
        repairs.delete_lost_records,
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
        repairs.heal,
    ),
    Check(
        "used",
        "inventories whose `used` is not the sum of their allocations",
        findings.inventories(derived.wrong_used),
        "`used` is recomputed",
        repairs.heal,
    ),
    Check(
        "capacity",
        "inventories whose `capacity` does not match their amounts",
        findings.inventories(derived.wrong_capacities),
        "`capacity` is recomputed",
        repairs.heal,
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
    functions.pop(repairs.heal)
    with progress(list(functions), "kinds of repairs") as steps:
        for step in steps:
            step(task)
    return repairs.heal(task)
