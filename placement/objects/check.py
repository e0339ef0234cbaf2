"""What may be wrong in a database, and what can be mended: after years, or a stay elsewhere.

`CHECKS` lists the faults in the order in which they are mended: what is deleted first no longer
counts for what comes later.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import islice

from sqlalchemy.engine import Connection

from placement.db.dialect import CHUNK, chunks
from placement.db.fragments import Rows
from placement.db.statements import check as statements
from placement.db.statements import recount as counts
from placement.db.writes import carry_out
from placement.objects import incomplete, recount, trees
from placement.objects.forest import Survey, survey

EXAMPLES = 3

Example = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Finding:
    """How many rows have a fault, and the first of them."""

    count: int
    examples: Sequence[Example] = ()


@dataclass(frozen=True)
class Look:
    """A database under inspection.

    unowned: project and user of consumers without record. most: rows shown of a fault; None: all.
    """

    conn: Connection
    unowned: tuple[str, str]
    most: int | None = EXAMPLES
    _uuids: dict[int, str] = field(default_factory=dict)
    _parents: dict[int, int | None] = field(default_factory=dict)
    _roots: dict[int, int | None] = field(default_factory=dict)

    @cached_property
    def forest(self) -> Survey:
        """What the parents say of every tree."""
        after = -1
        while rows := self.conn.execute(statements.forest(after, CHUNK)).all():
            for row in rows:
                self._uuids[row.id] = row.uuid
                self._parents[row.id] = row.parent_id
                self._roots[row.id] = row.root_id
            after = rows[-1].id
        return survey(self._parents)

    @cached_property
    def wrong_roots(self) -> Mapping[int, int]:
        """Provider -> the root it should have."""
        return {
            provider: root
            for provider, root in self.forest.roots.items()
            if self._roots[provider] != root
        }

    def providers(self, ids: Sequence[int] | frozenset[int] | Mapping[int, int]) -> Finding:
        """Tell of providers."""
        shown = [{"provider": self._uuids[each]} for each in islice(sorted(ids), self.most)]
        return Finding(len(ids), shown)

    def number(self, query: Rows) -> int:
        """How many rows a statement selects."""
        return int(self.conn.execute(statements.count(query)).scalar_one())

    def rows(self, query: Rows) -> Finding:
        """Tell of what a statement selects."""
        number = self.number(query)
        if not number:
            return Finding(0)
        shown = self.conn.execute(statements.examples(query, self.most)).all()
        return Finding(number, [row._asdict() for row in shown])

    def inventories(self, wrong_in_chunks: Iterable[Mapping[int, int]]) -> Finding:
        """Tell of inventories of which something derived is not right: id -> what is."""
        wrong = {row: right for chunk in wrong_in_chunks for row, right in chunk.items()}
        shown = []
        for chunk in chunks(list(islice(sorted(wrong), self.most))):
            for row in self.conn.execute(statements.numbered_inventories(chunk)):
                example = row._asdict()
                right = wrong[example.pop("id")]
                shown.append({**example, "right": right})
        return Finding(len(wrong), shown)


@dataclass(frozen=True, slots=True)
class Check:
    """A kind of fault. `remedy` says what `mend` does, or, without one, what an operator can do.

    `wrong` is False for what the API allows and an operator may yet want to know of.
    """

    name: str
    meaning: str
    find: Callable[[Look], Finding]
    remedy: str
    mend: Callable[[Look], object] | None = None
    wrong: bool = True


def _selected(query: Callable[[], Rows]) -> Callable[[Look], Finding]:
    return lambda look: look.rows(query())


def _detach(look: Look) -> None:
    for chunk in chunks(sorted(look.forest.stray)):
        carry_out(look.conn, statements.detach(chunk))


def _set_roots(look: Look) -> None:
    for chunk in chunks(sorted(look.wrong_roots)):
        by_id = {each: look.wrong_roots[each] for each in chunk}
        carry_out(look.conn, statements.set_roots(by_id))
    trees.renew(look.conn, look.forest.stray | set(look.wrong_roots.values()))


def _record_consumers(look: Look) -> None:
    incomplete.record_consumers(look.conn, None, look.unowned)


def _delete_idle_consumers(look: Look) -> None:
    number = look.number(statements.idle_consumers())
    carry_out(look.conn, statements.delete_idle_consumers(number))


def _lost(kind: str, name: str, meaning: str) -> Check:
    def mend(look: Look) -> None:
        number = look.number(statements.lost(kind))
        carry_out(look.conn, statements.delete_lost(kind, number))

    return Check(name, meaning, _selected(partial(statements.lost, kind)), "they are deleted", mend)


CHECKS = (
    # Mended first: with its revision a tree is owned until the end.
    Check(
        "revision",
        "trees that have no revision",
        _selected(counts.uncounted_roots),
        "every tree gets a new revision",
        lambda look: recount.renew_all(look.conn),
    ),
    Check(
        "parents",
        "providers whose parent is not there",
        lambda look: look.providers(look.forest.stray),
        "they become roots",
        _detach,
    ),
    Check(
        "loops",
        "providers whose line of parents never ends",
        lambda look: look.providers(look.forest.endless),
        "set parent_provider_id of one provider of each loop to NULL, and check again",
    ),
    Check(
        "roots",
        "providers whose root is not the top of their tree",
        lambda look: look.providers(look.wrong_roots),
        "root_provider_id is set",
        _set_roots,
    ),
    _lost("inventories", "lost-inventories", "inventories of providers that are not there"),
    _lost("allocations", "lost-allocations", "allocations from providers that are not there"),
    _lost("traits", "lost-traits", "associations of a provider or trait that is not there"),
    _lost(
        "aggregates", "lost-aggregates", "associations of a provider or aggregate that is not there"
    ),
    Check(
        "unknown-classes",
        "inventories of resource classes that are not there",
        _selected(statements.inventories_of_unknown_class),
        "insert the class under its old id, or delete them",
    ),
    Check(
        "no-inventory",
        "allocations from inventories that are not there",
        _selected(statements.allocations_without_inventory),
        "set the provider's inventory again, or delete the consumer's allocations",
    ),
    Check(
        "no-consumer",
        "consumers that have allocations and no record",
        _selected(statements.unrecorded_consumers),
        "records are made, of the project and user for incomplete consumers",
        _record_consumers,
    ),
    Check(
        "idle-consumers",
        "consumers without allocations",
        _selected(statements.idle_consumers),
        "they are deleted",
        _delete_idle_consumers,
    ),
    Check(
        "no-owner",
        "consumers whose project or user is not there",
        _selected(statements.unowned_consumers),
        "write the consumers' allocations again",
    ),
    Check(
        "used",
        "inventories whose used is not the sum of their allocations",
        lambda look: look.inventories(recount.wrong_used(look.conn)),
        "used is counted anew",
        lambda look: recount.fill_used(look.conn),
    ),
    Check(
        "capacity",
        "inventories whose capacity does not follow from their amounts",
        lambda look: look.inventories(recount.wrong_capacities(look.conn)),
        "capacity is computed anew",
        lambda look: recount.fill_capacity(look.conn),
    ),
    Check(
        "overcommitted",
        "inventories of which more is used than their capacity",
        _selected(statements.overcommitted),
        "allowed; nothing more can be claimed from them until enough is given back",
        wrong=False,
    ),
)


def inspect(
    conn: Connection, unowned: tuple[str, str], most: int | None = EXAMPLES
) -> list[tuple[Check, Finding]]:
    """Return the faults that are there, each with up to `most` of its rows (None: all)."""
    look = Look(conn, unowned, most)
    found = [(check, check.find(look)) for check in CHECKS]
    return [(check, finding) for check, finding in found if finding.count]


def mend(conn: Connection, unowned: tuple[str, str]) -> None:
    """Mend what can be mended, owning every tree; what is left takes an operator."""
    look = Look(conn, unowned)
    for check in CHECKS:
        if check.mend is not None:
            check.mend(look)
