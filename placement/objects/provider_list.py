"""The list of providers that meet a filter."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple, Protocol

from sqlalchemy.engine import Connection

from placement.db.conditions import ProviderCondition, combined
from placement.db.statements import provider_list as statements
from placement.errors import UnknownResourceClasses, UnknownTraits
from placement.objects import catalog, identifiers, provider_parts
from placement.objects.known_names import KnownNames, NamesByKind
from placement.objects.provider_parts import ByProvider, Part
from placement.objects.providers import Provider
from placement.objects.revision_cache import KeptText, RevisionCache, read_kinds
from placement.objects.revisions import UNKNOWN, may_tear
from placement.vocabulary import ConditionKind, IdCondition


class FilterTerm(Protocol):
    """A condition on listed providers; those of requests for candidates are such conditions."""

    @property
    def names(self) -> NamesByKind:
        """Kind -> the names to look up."""

    def is_known(self, known: KnownNames) -> bool:
        """Whether enough of its names exist for some provider to meet it."""

    def conditions(self, known: KnownNames) -> Sequence[IdCondition]:
        """Return the conditions that are to be met, as the database judges them."""


@dataclass(frozen=True, slots=True)
class ProviderFilter:
    """What a listed provider must meet; all fields at once."""

    name: str | None = None
    uuid: str | None = None
    # (class, amount) pairs, for each of which the provider itself must have room.
    resources: tuple[tuple[str, int], ...] = ()
    terms: tuple[FilterTerm, ...] = ()

    def names(self, kind: str) -> frozenset[str]:
        """Return all names of a kind that the terms have."""
        return frozenset[str]().union(*(term.names.get(kind, ()) for term in self.terms))

    @property
    def classes(self) -> frozenset[str]:
        """All resource classes that the filter names."""
        return frozenset(name for name, _amount in self.resources)


class ProviderPage(NamedTuple):
    """A part of a list in the order of uuids: the next `size` providers.

    after: the uuid that they come after, which need not be a provider's; None: the first ones.
    """

    size: int
    after: str | None = None


@dataclass(frozen=True, slots=True)
class ProviderSelection:
    """Which providers to list, by ids.

    condition: None where no provider can meet the filter. page: None for all, in the order of
    their ids; else with the uuid that it comes after as stored.
    """

    condition: ProviderCondition | None
    page: ProviderPage | None

    @property
    def is_unbounded(self) -> bool:
        """Whether any number of providers may be listed."""
        names_providers = self.condition is not None and self.condition.names_providers
        return self.page is None and not names_providers


def resolve(
    conn: Connection, conditions: ProviderFilter, page: ProviderPage | None = None
) -> ProviderSelection:
    """Look up what a filter and a page name, in one statement; in none without names.

    Raises UnknownTraits and UnknownResourceClasses for names that do not exist.
    """
    known, after = _resolve(conn, conditions, page)
    _refuse_unknown(conn, conditions, known)
    if page is not None:
        page = page._replace(after=after)
    # A tree or aggregate that does not exist has no members, and no provider is in two trees:
    # nothing need be read.
    if not all(term.is_known(known) for term in conditions.terms):
        return ProviderSelection(None, page)
    condition = _condition(conditions, known)
    is_possible = len(condition.sets(ConditionKind.TREE)) <= 1
    return ProviderSelection(condition if is_possible else None, page)


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
        rows = statements.listed(condition).rows(conn)
        return ProviderList(list(map(_provider, rows)))
    # One more than the page holds tells whether there is one.
    rows = statements.page(condition, page.after or "", page.size + 1).rows(conn)
    providers = list(map(_provider, rows[: page.size]))
    return ProviderList(providers, are_more=len(rows) > page.size)


PartTexts = dict[Part, dict[int, KeptText]]

# Makes text of the values of a part; the revisions are those that the values are known to be of.
RenderPart = Callable[[Part, ByProvider, Mapping[int, int]], dict[int, KeptText]]


def find_with_parts(
    conn: Connection,
    selection: ProviderSelection,
    caches: Mapping[Part, RevisionCache[KeptText]],
    render: RenderPart,
    seen: Callable[[ProviderList], object],
) -> tuple[ProviderList, PartTexts, bool]:
    """Return the providers to list, parts of what they have, and whether all is of one state.

    Parts are read between two looks at the list. What has the same revision in both is kept; the
    rest is at least as new as the generations that come with it. caches: of each part that is
    wanted. seen: is called with the list before parts are read, and may raise.
    """
    listed = find(conn, selection)
    seen(listed)
    earlier = listed.revisions

    @cache
    def look_again() -> ProviderList:
        return find(conn, selection) if may_tear(conn) else listed

    def load(missing: Mapping[int, int], parts: Collection[Part]) -> PartTexts:
        values = provider_parts.read(conn, missing, parts)
        unchanged = dict(earlier.items() & look_again().revisions.items())
        return {part: render(part, by_id, unchanged) for part, by_id in values.items()}

    texts = read_kinds(caches, earlier, load)
    latest = look_again()
    if (latest.revisions, latest.are_more) == (earlier, listed.are_more):
        return latest, texts, True
    return listed, texts, False


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


def _resolve(
    conn: Connection, conditions: ProviderFilter, page: ProviderPage | None
) -> tuple[KnownNames, str]:
    """Return the names that exist, and the uuid that a page comes after as stored."""
    trees = conditions.names("tree")
    after = () if page is None or page.after is None else (page.after,)
    found = catalog.look_up(
        conn,
        {
            "trait": conditions.names("trait"),
            "resource_class": conditions.classes,
            "aggregate": conditions.names("aggregate"),
        },
        {*trees, *after},
    )
    # A row may have another form of the uuid than the canonical one, and its place in the order.
    known = KnownNames.of(found.ids, found.aggregates, found.trees, [*trees, *after])
    stored = known.providers
    return known, "".join(stored.get(uuid) or identifiers.key(uuid) for uuid in after)


def _refuse_unknown(conn: Connection, conditions: ProviderFilter, ids: KnownNames) -> None:
    """Raise UnknownTraits or UnknownResourceClasses, naming the parameter."""
    traits = conditions.names("trait") - ids.traits.keys()
    if traits:
        raise UnknownTraits(traits, "required", catalog.nearest(conn, "trait", traits))
    classes = conditions.classes - ids.classes.keys()
    if classes:
        nearest = catalog.nearest(conn, "resource_class", classes)
        raise UnknownResourceClasses(classes, "resources", nearest)


def _condition(conditions: ProviderFilter, known: KnownNames) -> ProviderCondition:
    """Return the filter by ids."""
    uuids = None if conditions.uuid is None else identifiers.stored_forms(conditions.uuid)
    by_ids: list[IdCondition] = []
    for term in conditions.terms:
        by_ids += term.conditions(known)
    return ProviderCondition(
        combined(by_ids),
        name=conditions.name,
        uuids=None if uuids is None else frozenset(uuids),
        resources=known.resource_ids(conditions.resources),
    )
