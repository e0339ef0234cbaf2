"""The list of providers that meet a filter."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from sqlalchemy.engine import Connection

from placement.db.conditions import ProviderCondition
from placement.db.statements import provider_list as statements
from placement.errors import UnknownResourceClasses, UnknownTraits
from placement.objects import catalog, identifiers
from placement.objects.providers import Provider
from placement.objects.revisions import UNKNOWN


@dataclass(frozen=True, slots=True)
class ProviderFilter:
    """What a listed provider must meet; all fields at once.

    required and member_of: at least one of each set. resources: (class, amount) pairs, for each
    of which the provider itself must have room.
    """

    name: str | None = None
    uuid: str | None = None
    in_tree: str | None = None
    subtree: str | None = None
    required: tuple[frozenset[str], ...] = ()
    forbidden: frozenset[str] = frozenset()
    member_of: tuple[frozenset[str], ...] = ()
    not_member_of: frozenset[str] = frozenset()
    resources: tuple[tuple[str, int], ...] = ()

    @property
    def traits(self) -> frozenset[str]:
        """All traits that the filter names."""
        return self.forbidden.union(*self.required)

    @property
    def aggregates(self) -> frozenset[str]:
        """All aggregates that the filter names."""
        return self.not_member_of.union(*self.member_of)

    @property
    def trees(self) -> frozenset[str]:
        """The providers by which the filter names a tree or a part of one."""
        return frozenset(uuid for uuid in (self.in_tree, self.subtree) if uuid is not None)

    @property
    def classes(self) -> frozenset[str]:
        """All resource classes that the filter names."""
        return frozenset(name for name, _amount in self.resources)


class Page(NamedTuple):
    """A part of a list in the order of uuids: the next `size` providers.

    after: the uuid that they come after, which need not be a provider's; None: the first ones.
    """

    size: int
    after: str | None = None


@dataclass(frozen=True, slots=True)
class _FilterIds:
    """The ids of what a filter names.

    aggregates: key -> ids of all rows that mean the aggregate. roots: of those trees
    that the filter names and that exist. after: the uuid that a page comes after, as stored.
    """

    traits: Mapping[str, int]
    classes: Mapping[str, int]
    aggregates: Mapping[str, frozenset[int]]
    roots: Mapping[str, int]
    after: str

    def of_traits(self, names: Iterable[str]) -> frozenset[int]:
        """Return the ids of traits, all of which exist."""
        return frozenset(self.traits[name] for name in names)

    def of_aggregates(self, uuids: Iterable[str]) -> frozenset[int]:
        """Return the ids of those aggregates that exist."""
        nothing: frozenset[int] = frozenset()
        return nothing.union(
            *(self.aggregates.get(identifiers.key(uuid), nothing) for uuid in uuids)
        )


@dataclass(frozen=True, slots=True)
class ProviderSelection:
    """Which providers to list, by ids.

    condition: None where no provider can meet the filter. page: None for all, in the order of
    their ids; else with the uuid that it comes after as stored.
    """

    condition: ProviderCondition | None
    page: Page | None

    @property
    def is_unbounded(self) -> bool:
        """Whether any number of providers may be listed."""
        names_providers = self.condition is not None and self.condition.names_providers
        return self.page is None and not names_providers


def resolve(
    conn: Connection, conditions: ProviderFilter, page: Page | None = None
) -> ProviderSelection:
    """Look up what a filter and a page name, in one statement; in none without names.

    Raises UnknownTraits and UnknownResourceClasses for names that do not exist.
    """
    ids = _resolve(conn, conditions, page)
    _refuse_unknown(conn, conditions, ids)
    if page is not None:
        page = page._replace(after=ids.after)
    # A tree or aggregate that does not exist has no members, and no provider is in two trees:
    # nothing need be read.
    if not ids.roots.keys() >= conditions.trees or len(set(ids.roots.values())) > 1:
        return ProviderSelection(None, page)
    if not all(ids.of_aggregates(uuids) for uuids in conditions.member_of):
        return ProviderSelection(None, page)
    return ProviderSelection(_condition(conditions, ids), page)


class ProviderList(NamedTuple):
    """Providers, and whether there are more after them."""

    providers: list[Provider]
    are_more: bool = False

    @property
    def revisions(self) -> dict[int, int]:
        """The revisions of their trees, by the ids of the providers."""
        return {provider.id: provider.revision for provider in self.providers}


def find(conn: Connection, selection: ProviderSelection) -> ProviderList:
    """Return the providers to list, in one statement."""
    condition, page = selection.condition, selection.page
    if condition is None:
        return ProviderList([])
    if page is None:
        return ProviderList([_provider(row) for row in statements.listed(condition).rows(conn)])
    # One more than the page holds tells whether there is one.
    rows = statements.page(condition, page.after or "", page.size + 1).rows(conn)
    return ProviderList([_provider(row) for row in rows[: page.size]], len(rows) > page.size)


def revisions(conn: Connection, selection: ProviderSelection) -> dict[int, int]:
    """Return the ids of the providers to list, in their order, and the revisions of their trees.

    That of one that is in no tree is UNKNOWN.
    """
    if selection.condition is None:
        return {}
    rows = statements.revisions(selection.condition).rows(conn)
    return {row_id: revision or UNKNOWN for row_id, revision in rows}


def read(conn: Connection, selection: ProviderSelection, ids: Collection[int]) -> list[Provider]:
    """Return those of the providers to list that have these ids, in one statement.

    Where they are many, the others are returned as well.
    """
    if selection.condition is None:
        return []
    return [_provider(row) for row in statements.among(selection.condition, ids).rows(conn)]


def _provider(row: Sequence[Any]) -> Provider:
    row_id, *fields, revision = row
    return Provider._make([*fields, row_id, revision or UNKNOWN])


def _resolve(conn: Connection, conditions: ProviderFilter, page: Page | None) -> _FilterIds:
    after = () if page is None or page.after is None else (page.after,)
    known = catalog.look_up(
        conn,
        {
            "trait": conditions.traits,
            "resource_class": conditions.classes,
            "aggregate": conditions.aggregates,
        },
        {*conditions.trees, *after},
    )
    # A row may have another form of the uuid than the canonical one, and its place in the order.
    rows = identifiers.match(after, {uuid: uuid for uuid in known.trees})
    return _FilterIds(
        known.ids["trait"],
        known.ids["resource_class"],
        known.aggregates,
        identifiers.match(conditions.trees, known.trees),
        "".join(rows.get(uuid) or identifiers.key(uuid) for uuid in after),
    )


def _refuse_unknown(conn: Connection, conditions: ProviderFilter, ids: _FilterIds) -> None:
    """Raise UnknownTraits or UnknownResourceClasses, naming the parameter."""
    traits = conditions.traits - ids.traits.keys()
    if traits:
        raise UnknownTraits(traits, "required", catalog.nearest(conn, "trait", traits))
    classes = conditions.classes - ids.classes.keys()
    if classes:
        nearest = catalog.nearest(conn, "resource_class", classes)
        raise UnknownResourceClasses(classes, "resources", nearest)


def _condition(conditions: ProviderFilter, ids: _FilterIds) -> ProviderCondition:
    """Return the filter by ids."""
    uuids = None if conditions.uuid is None else identifiers.stored_forms(conditions.uuid)
    subtree = conditions.subtree
    return ProviderCondition(
        name=conditions.name,
        uuids=None if uuids is None else frozenset(uuids),
        root_id=min(ids.roots.values(), default=None),
        subtree=None if subtree is None else frozenset(identifiers.stored_forms(subtree)),
        resources=tuple((ids.classes[name], amount) for name, amount in conditions.resources),
        traits=tuple(ids.of_traits(names_of_term) for names_of_term in conditions.required),
        forbidden=ids.of_traits(conditions.forbidden),
        aggregates=tuple(ids.of_aggregates(uuids) for uuids in conditions.member_of),
        not_aggregates=ids.of_aggregates(conditions.not_member_of),
    )
