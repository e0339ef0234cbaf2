"""Create new trees of a cloud file, with one request for each tree if the server supports it."""

from collections.abc import Collection, Iterable
from contextlib import suppress
from typing import Any

from falcon_placement_client.answers import RefusedError
from falcon_placement_client.command_client import RestClient
from falcon_placement_client.loader.cloud import CloudProvider
from falcon_placement_client.loader.parts import PROVIDER_PARTS
from falcon_placement_client.tree_requests import MAX_PROVIDERS


class NewTrees:
    """Creates a whole tree when the loader reaches its root."""

    def __init__(self, providers: Iterable[CloudProvider], existing: Collection[str]) -> None:
        """Find the trees.

        Args:
            providers: all providers of the file, parents before their children.
            existing: UUIDs of the providers of the server.
        """
        # UUID of the root -> providers. The root comes first.
        self._trees: dict[str, list[CloudProvider]] = {}
        # UUIDs of the providers that were created.
        self._created: set[str] = set()
        roots: dict[str, str] = {}
        for provider in providers:
            parent = provider.parent_uuid
            root = provider.uuid if parent is None else roots.get(parent)
            if root is None:  # the parent is not in the file
                continue
            roots[provider.uuid] = root
            self._trees.setdefault(root, []).append(provider)
        for uuid in existing:
            self._trees.pop(roots.get(uuid, uuid), None)

    def creates(self, client: RestClient, uuid: str) -> bool:
        """Return whether a provider was created with its tree. For a root, create the tree.

        If a tree is refused, single requests are sent instead. They find the refused entry.
        """
        tree = self._trees.pop(uuid, [])
        if tree and len(tree) <= MAX_PROVIDERS and client.writes_trees:
            body = {"providers": [_entry(provider) for provider in tree]}
            with suppress(RefusedError):
                client.put_tree(uuid, body)
                self._created.update(provider.uuid for provider in tree)
        return uuid in self._created


def _entry(provider: CloudProvider) -> dict[str, Any]:
    """Return a provider as an entry of the body.

    The generation is null because the provider is new.
    """
    place = {
        "uuid": provider.uuid,
        "name": provider.name,
        "parent_provider_uuid": provider.parent_uuid,
        "generation": None,
    }
    return place | {part.name: part.of_file(provider) for part in PROVIDER_PARTS}
