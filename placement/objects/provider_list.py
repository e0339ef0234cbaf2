"""The list of providers that satisfy a filter."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, Protocol

from sqlalchemy.engine import Connection

from placement.db.conditions import ProviderCondition, merge_conditions
from placement.db.statements import provider_list as statements
from placement.errors import UnknownResourceClasses, UnknownTraits
from placement.objects import catalog, identifiers, provider_parts
from placement.objects.known_names import KnownNames, NamesByKind
from placement.objects.paging import ListPage
from placement.objects.provider_parts import ByProvider, Part
from placement.objects.providers import Provider
from placement.objects.revision_cache import CachedText, RevisionCache, read_kinds
from placement.objects.revisions import MIXED, UNKNOWN, read_between
from placement.vocabulary import ConditionKind, IdCondition


class FilterTerm(Protocol):
    """A condition on listed providers. The terms of candidate requests implement this protocol."""

    @property
    def names(self) -> NamesByKind:
        """Kind -> the names to look up."""

    def is_known(self, known: KnownNames) -> bool:
        """Return whether any provider can satisfy the term, given the existing names."""

    def conditions(self, known: KnownNames) -> Sequence[IdCondition]:
        """Return the conditions for the database."""


@dataclass(frozen=True, slots=True)
class ProviderFilter:
    """The conditions that listed providers must satisfy."""

    # Exact name, or None for any.
    name: str | None = None
    # Exact UUID, or None for any.
    uuid: str | None = None
    # (class, amount) pairs. The provider itself must have room for each amount.
    resources: tuple[tuple[str, int], ...] = ()
    # Conditions on traits, aggregates and position in the tree.
    terms: tuple[FilterTerm, ...] = ()

    def names(self, kind: str) -> frozenset[str]:
        """Return all names of a kind in the terms."""
        return frozenset[str]().union(*(term.names.get(kind, ()) for term in self.terms))

    @property
    def classes(self) -> frozenset[str]:
        return frozenset(name for name, _amount in self.resources)


@dataclass(frozen=True, slots=True)
class ProviderSelection:
    """The providers to list. Names are resolved to ids."""

    # The condition, or None if no provider can satisfy the filter.
    condition: ProviderCondition | None
    # The page, or None for all providers in the order of their ids. `after` is a uuid as stored.
    page: ListPage | None

    @property
    def is_unbounded(self) -> bool:
        """Whether the number of listed providers is not limited."""
        names_providers = self.condition is not None and self.condition.names_providers
        return self.page is None and not names_providers


def resolve(
    conn: Connection, conditions: ProviderFilter, page: ListPage | None = None
) -> ProviderSelection:
    """Resolve the names of a filter and a page in at most one statement.

    Raises:
        UnknownTraits, UnknownResourceClasses: a name does not exist.
    """
    known, after = _resolve(conn, conditions, page)
    _refuse_unknown(conn, conditions, known)
    if page is not None:
        page = page._replace(after=after)
    # A tree or aggregate that does not exist has no members, and no provider is in two trees.
    # Therefore, the result is empty.
    if not all(term.is_known(known) for term in conditions.terms):
        return ProviderSelection(None, page)
    condition = _condition(conditions, known)
    is_possible = len(condition.sets(ConditionKind.TREE)) <= 1
    return ProviderSelection(condition if is_possible else None, page)


class ProviderList(NamedTuple):
    """A list of providers, and whether more of them follow."""

    providers: list[Provider]
    are_more: bool = False

    @property
    def revisions(self) -> dict[int, int]:
        """The revisions of the trees, by provider id."""
        return {provider.id: provider.revision for provider in self.providers}


def find(conn: Connection, selection: ProviderSelection) -> ProviderList:
    """Return the selected providers, in one statement."""
    condition, page = selection.condition, selection.page
    if condition is None:
        return ProviderList([])
    if page is None:
        rows = statements.listed(condition).rows(conn)
        return ProviderList(list(map(_provider, rows)))
    # Read one more provider than the page holds, to detect whether more providers follow.
    rows = statements.page(condition, page.after or "", page.size + 1).rows(conn)
    providers = list(map(_provider, rows[: page.size]))
    return ProviderList(providers, are_more=len(rows) > page.size)


PartTexts = dict[Part, dict[int, CachedText]]

# Function that renders the values of a part, without their revisions.
RenderPart = Callable[[Part, ByProvider], dict[int, CachedText]]


def find_with_parts(
    conn: Connection,
    selection: ProviderSelection,
    caches: Mapping[Part, RevisionCache[CachedText]],
    render: RenderPart,
    seen: Callable[[ProviderList], object],
) -> tuple[ProviderList, PartTexts]:
    """Return the selected providers and their parts. All parts of a provider have one revision.

    If a tree keeps changing, the revision of its providers is MIXED, and their parts are at least
    as new as their generations. Other parts are cached.

    Args:
        caches: a cache for each requested part.
        render: renders the values of a part.
        seen: called with a list before its parts are read; it may raise.
    """
    texts: PartTexts = {part: {} for part in caches}

    def load(missing: Mapping[int, int], parts: Collection[Part]) -> PartTexts:
        values = provider_parts.read(conn, missing, parts)
        return {part: render(part, by_id) for part, by_id in values.items()}

    def read(listed: ProviderList, pending: Collection[int]) -> None:
        seen(listed)
        wanted = {key: value for key, value in listed.revisions.items() if key in pending}
        for part, by_id in read_kinds(caches, wanted, load).items():
            texts[part] |= by_id

    listed, exact = read_between(conn, partial(find, conn, selection), _by_id, read)
    for part, cache in caches.items():
        loaded = {key: text for key, text in texts[part].items() if text.revision == UNKNOWN}
        cache.put(
            {
                key: text._replace(revision=exact[key].revision)
                for key, text in loaded.items()
                if key in exact
            }
        )
    providers = [exact.get(each.id) or each._replace(revision=MIXED) for each in listed.providers]
    return listed._replace(providers=providers), texts


def _by_id(listed: ProviderList) -> Mapping[int, Provider]:
    return {provider.id: provider for provider in listed.providers}


def revisions(conn: Connection, selection: ProviderSelection) -> Sequence[str]:
    """Return the revisions of the selected providers as texts, which `parse_revisions` parses."""
    if selection.condition is None:
        return ()
    return statements.revisions(selection.condition).rows(conn)


def parse_revisions(block: str) -> dict[int, int]:
    """Return provider id -> revision of the tree, by id.

    The revision of a provider without a tree is UNKNOWN.
    """
    return {row_id: revision or UNKNOWN for row_id, revision in statements.rows_of_block(block)}


def count_providers(blocks: Iterable[str]) -> int:
    """Return the number of providers of blocks without parsing them."""
    return sum(map(statements.count_rows, blocks))


def read(conn: Connection, selection: ProviderSelection, ids: Collection[int]) -> list[Provider]:
    """Return the selected providers with these ids, in one statement.

    If there are many ids, the result may also contain other selected providers.
    """
    if selection.condition is None:
        return []
    return [
        _provider(row) for row in statements.listed_with_ids(selection.condition, ids).rows(conn)
    ]


def _provider(row: Sequence[Any]) -> Provider:
    row_id, *fields, revision = row
    return Provider._make([*fields, row_id, revision or UNKNOWN])


def _resolve(
    conn: Connection, conditions: ProviderFilter, page: ListPage | None
) -> tuple[KnownNames, str]:
    """Return the existing names, and the stored form of the uuid after which a page starts."""
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
    # A row may contain another form of the uuid. This form determines the position in the order.
    known = KnownNames.from_lookup(found.ids, found.aggregates, found.trees, [*trees, *after])
    stored = known.providers
    return known, "".join(stored.get(uuid) or identifiers.key(uuid) for uuid in after)


def _refuse_unknown(conn: Connection, conditions: ProviderFilter, ids: KnownNames) -> None:
    """Raise UnknownTraits or UnknownResourceClasses, with the name of the parameter."""
    traits = conditions.names("trait") - ids.traits.keys()
    if traits:
        raise UnknownTraits(traits, "required", catalog.hint(conn, "trait", traits))
    classes = conditions.classes - ids.classes.keys()
    if classes:
        hint = catalog.hint(conn, "resource_class", classes)
        raise UnknownResourceClasses(classes, "resources", hint)


def _condition(conditions: ProviderFilter, known: KnownNames) -> ProviderCondition:
    """Return the filter with ids instead of names."""
    uuids = None if conditions.uuid is None else identifiers.stored_forms(conditions.uuid)
    by_ids: list[IdCondition] = []
    for term in conditions.terms:
        by_ids += term.conditions(known)
    return ProviderCondition(
        merge_conditions(by_ids),
        name=conditions.name,
        uuids=None if uuids is None else frozenset(uuids),
        resources=known.resource_ids(conditions.resources),
    )
