"""Validate a list of providers, and sort it as trees."""

from collections.abc import Mapping

from falcon_placement_client.errors import ProviderTreeError
from falcon_placement_client.provider_data import ProviderData


def parents_first(providers: list[ProviderData]) -> dict[str, ProviderData]:
    """Return providers by UUID, with parents before their children. Raises ProviderTreeError."""
    by_uuid = {provider.uuid: provider for provider in providers}
    names = {provider.name for provider in providers}
    if min(len(names), len(by_uuid)) < len(providers):
        raise ProviderTreeError("two providers of the tree have the same name or UUID")
    children = _children_by_parent(by_uuid)
    # The list starts with the roots. Children are added during the iteration.
    ordered = children.pop(None, [])
    for provider in ordered:
        ordered += children.pop(provider.uuid, ())
    if children:
        cyclic = next(provider for provider in providers if provider.parent_uuid in children)
        raise ProviderTreeError(f"{cyclic.name}: the provider is its own ancestor")
    return {provider.uuid: provider for provider in ordered}


def _children_by_parent(
    providers: Mapping[str, ProviderData],
) -> dict[str | None, list[ProviderData]]:
    """Return the children of each provider.

    The key None contains the roots. Raises ProviderTreeError.
    """
    children: dict[str | None, list[ProviderData]] = {}
    for provider in providers.values():
        parent = provider.parent_uuid
        if parent is not None and parent not in providers:
            raise ProviderTreeError(f"{provider.name}: its parent {parent} is not in the tree")
        children.setdefault(parent, []).append(provider)
    return children
