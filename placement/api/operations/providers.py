"""`/resource_providers`."""

from collections.abc import Collection, Mapping
from dataclasses import replace
from datetime import datetime
from functools import partial

from sqlalchemy.engine import Connection

from placement.api import samples, tags
from placement.api.bodies import TEXT, UUID_LIKE, Schema, closed, sample
from placement.api.candidate_requests.checks import choices
from placement.api.candidate_requests.terms import (
    Members,
    effective,
    read_terms,
    resources,
    terms_of,
)
from placement.api.handler import NOW, Call, Reply, newest
from placement.api.history import Feature, Microversion, Versioned
from placement.api.operations.provider_shapes import (
    ProviderTexts,
    WithParts,
    part_texts,
    read_texts,
)
from placement.api.parameters import (
    PROVIDER_UUID,
    Pairs,
    Parameter,
    after,
    include_parameter,
    last_values,
    marker_parameter,
    pairs,
    parse_include,
    parse_show,
    parse_uuid,
    positive,
    provider_uuid,
    repeatable,
)
from placement.api.shapes import View
from placement.candidates.terms import GROUP_TERMS, InTree
from placement.errors import BadQuery
from placement.objects import provider_list, provider_parts, providers
from placement.objects.paging import ListPage
from placement.objects.provider_list import (
    PartTexts,
    ProviderFilter,
    ProviderList,
    ProviderSelection,
)
from placement.objects.provider_parts import Part
from placement.objects.unset import UNSET
from placement.vocabulary import MAX_INTEGER

NAME = sample({**TEXT, "maxLength": 200}, samples.PROVIDER_NAME)
NEW_UUID = sample(UUID_LIKE, samples.PROVIDER)
PARENT = sample(
    {
        **UUID_LIKE,
        "type": ["string", "null"],
        "description": "the UUID of the parent, or null for a root",
    },
    samples.PARENT,
)

NESTED = {"parent_provider_uuid": PARENT}

NEW = {"name": {**NAME, "minLength": 1}}

CREATE = Versioned(
    {"1.0": closed(NEW, {"uuid": NEW_UUID}), "1.14": closed(NEW, {"uuid": NEW_UUID, **NESTED})}
).map(Schema)

OLD = {"name": NAME}  # the empty name is also valid
UPDATE = Versioned(
    {"1.0": closed(OLD), "1.14": closed(OLD, NESTED), "2.0": closed(NEW, NESTED)}
).map(Schema)

# Each condition is evaluated for each provider. With fifty conditions, PostgreSQL takes 0.4 s for
# 1,000 hosts.
MAX_CONDITIONS = 50

# Parameters with the forms of candidate requests. A UUID of `in_tree` must have dashes.
_READ_TERMS = {kind.parameter for kind in GROUP_TERMS} - {InTree.parameter}

# Maximum number of providers in a list with parts. Each part requires a statement.
MAX_WITH_PARTS = 1_000
# Default limit of a list without parts.
NO_LIMIT = MAX_INTEGER


_uuid = partial(provider_uuid, error=f"{PROVIDER_UUID}; it has dashes")
_INCLUDE = include_parameter("provider", Part)
SHOW_PARAMETERS: Mapping[str, Parameter] = {"include": _INCLUDE}
PARAMETERS: Mapping[str, Parameter] = {
    "name": Parameter("1.0", "The name of a provider."),
    "uuid": _uuid("1.0", "The UUID of a provider."),
    "member_of": repeatable(
        "1.3",
        "Aggregates that providers must be in (`UUID`), must be in one of (`in:UUID,UUID`), or "
        "must not be in (`!UUID`).",
    ),
    "resources": Parameter(
        "1.4", "Amounts that must be free on a provider: `CLASS:AMOUNT`, separated by commas."
    ),
    "in_tree": _uuid("1.14", "UUID of a provider; only providers of its tree are listed."),
    "subtree": provider_uuid(
        "2.0", "UUID of a provider; only this provider and its descendants are listed."
    ),
    "required": repeatable(
        "1.18",
        "Traits that providers must have (`T1,T2`), must not have (`!T`), or must have one of "
        "(`in:T1,T2`).",
    ),
    "include": replace(
        _INCLUDE,
        about=f"{_INCLUDE.about} A list with parts has at most {MAX_WITH_PARTS} providers.",
    ),
    "limit": Parameter(
        "2.0",
        "Maximum number of providers, in the order of their UUIDs. "
        "`resource_providers_links` has a link to the next page.",
        {"type": "integer", "minimum": 1},
    ),
    "marker": marker_parameter("providers"),
}


def parse_provider_filter(query: Pairs, version: Microversion) -> ProviderFilter:
    """Read the filters.  Raises BadQuery."""
    values = last_values(query, PARAMETERS, version)
    # Before 2.0, an empty name selects all providers, as in openstack-placement.
    if not Feature.WHOLE_LANGUAGE.at(version) and not values.get("name"):
        values.pop("name", None)
    members: Members = {InTree.keyword: values.get(InTree.parameter)}
    for key, value in effective(query, version):
        if key in _READ_TERMS:
            read_terms(members, key, key, value, version)
    terms = terms_of(members, GROUP_TERMS)
    amounts = resources("resources", values["resources"], version) if "resources" in values else {}
    _check_number(choices(terms) + len(amounts))
    return ProviderFilter(
        name=values.get("name"),
        uuid=values.get("uuid"),
        resources=tuple(amounts.items()),
        terms=terms,
    )


def parse_page(query: Pairs, parts: Collection[Part]) -> ListPage | None:
    """Return the requested page, or None if the whole list is requested. Raises BadQuery."""
    values = dict(query)
    marker = values.get("marker")
    if marker is not None:
        parse_uuid("marker", marker)
    most = MAX_WITH_PARTS if parts else NO_LIMIT
    if "limit" in values:
        return ListPage(min(positive("limit", values["limit"]), most), marker)
    return ListPage(most, marker) if parts or marker is not None else None


def _check_number(conditions: int) -> None:
    if conditions > MAX_CONDITIONS:
        raise BadQuery(
            f"required=in:, member_of, resources: {conditions} conditions (sets of traits, sets of "
            f"aggregates, classes) are too many; at most {MAX_CONDITIONS} are allowed together"
        )


def list_resource_providers(call: Call) -> Reply:
    """List the resource providers that satisfy all filters."""
    stated = pairs(call.query_string)
    filters = parse_provider_filter(stated, call.version)
    included = parse_include(stated, Part)
    page = parse_page(stated, included)
    with call.service.database.read_trees() as conn:
        selection = provider_list.resolve(conn, filters, page)
        if page is None:
            return _whole_list(call, conn, selection)
        listed, parts, tag = _page(call, conn, selection, included)
    more = after(stated, listed.providers[-1].uuid) if listed.are_more else None
    listing = WithParts(listed.providers, parts, more)
    return Reply(200, listing, changed_at=NOW if parts else _newest(listed), tag=tag)


def _newest(listed: ProviderList) -> datetime | str:
    return newest([provider.changed_at for provider in listed.providers])


def _page(
    call: Call, conn: Connection, selection: ProviderSelection, included: Collection[Part]
) -> tuple[ProviderList, PartTexts, str | None]:
    """Return a page, the requested parts of its providers, and its tag."""
    caches = {part: call.service.parts.get((part, call.version)) for part in included}
    render = partial(part_texts, view=View(call.version))
    tag_of = partial(tags.get_for_page, call)
    listed, parts = provider_list.find_with_parts(conn, selection, caches, render, seen=tag_of)
    return listed, parts, tag_of(listed)


def _whole_list(call: Call, conn: Connection, selection: ProviderSelection) -> Reply:
    """Return the response that lists all providers of a selection."""
    tag = tags.get_for_all(call, conn)
    texts = read_texts(call, conn, selection) if selection.is_unbounded else None
    if texts is not None:
        changed_at = newest({provider.changed_at for provider in texts})
        tag = tags.confirm(call, conn, tag)
        return Reply(200, ProviderTexts(texts), changed_at=changed_at, tag=tag)
    listed = provider_list.find(conn, selection)
    tag = tags.confirm(call, conn, tag)
    return Reply(200, WithParts(listed.providers), changed_at=_newest(listed), tag=tag)


def create_resource_provider(call: Call) -> Reply:
    """Create a resource provider."""
    provider = call.write(
        providers.create,
        name=call.body["name"],
        uuid=call.body.get("uuid"),
        parent_uuid=call.body.get("parent_provider_uuid"),
    )
    location = f"/resource_providers/{provider.uuid}"
    if not Feature.CREATED_PROVIDER_SHOWN.at(call.version):
        return Reply(201, location=location)
    return Reply(200, provider, location=location, changed_at=provider.changed_at or NOW)


def show_resource_provider(call: Call) -> Reply:
    """Show a resource provider."""
    included = parse_show(call.query_string, call.version, Part)
    if not included and not tags.TAGGED.at(call.version):
        provider = call.read_one(providers.get, uuid=call.path["uuid"])
        return Reply(200, WithParts([provider]), changed_at=provider.changed_at or NOW)
    provider, values, tag = tags.read_provider(
        call, lambda conn, provider: provider_parts.read(conn, [provider.id], included)
    )
    view = View(call.version)
    parts = {part: part_texts(part, by_id, view) for part, by_id in values.items()}
    changed_at = NOW if parts else provider.changed_at or NOW
    return Reply(200, WithParts([provider], parts), changed_at=changed_at, tag=tag)


def check_provider(call: Call) -> None:
    """Raise ProviderNotFound unless the provider in the path exists."""
    call.read_one(providers.get, uuid=call.path["uuid"])


def update_resource_provider(call: Call) -> Reply:
    """Rename a resource provider, or move it to another parent.

    If no parent is stated, the provider keeps its parent.
    """
    provider = call.write(
        providers.update,
        uuid=call.path["uuid"],
        name=call.body["name"],
        parent_uuid=call.body.get("parent_provider_uuid", UNSET),
        movable=Feature.MOVES.at(call.version),
    )
    return Reply(200, provider, changed_at=provider.changed_at or NOW)


def delete_resource_provider(call: Call) -> Reply:
    """Delete a resource provider and its inventories, traits and aggregate memberships.

    The request is refused while the provider has allocations or children.
    """
    call.write(providers.delete, uuid=call.path["uuid"])
    return Reply(204)
