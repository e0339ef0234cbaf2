"""Write the changes of a tree on top of the concurrent changes of other clients."""

import logging
from itertools import chain

from falcon_placement_client import tree_reader
from falcon_placement_client.consumers import AllocationRecords
from falcon_placement_client.errors import ProviderTreeError, ReshapeFailed, UpdateFailed
from falcon_placement_client.provider_data import ProviderData
from falcon_placement_client.provider_tree import ProviderTree, TreeSnapshot
from falcon_placement_client.rest import RestApi
from falcon_placement_client.tree_difference import revised
from falcon_placement_client.tree_writer import TreeWriter

LOG = logging.getLogger(__name__)


def create(writer: TreeWriter, tree: ProviderTree) -> TreeSnapshot | None:
    """Write a tree without a base by creating all of its providers.

    Returns:
        The resulting tree, or None if `update` has to write it.
    """
    if tree.base or not tree:
        return None
    LOG.info("%s", tree.changes())
    return writer.create(tree.snapshot())


def update(
    api: RestApi, writer: TreeWriter, tree: ProviderTree, allocations: AllocationRecords | None
) -> TreeSnapshot:
    """Write the changes of a tree once. Raises the errors of `update_from_provider_tree`."""
    new = tree.snapshot()
    current, target = _compare(api, tree, new)
    written = current
    if target != current or allocations is not None:
        if allocations is not None:
            _refuse_stale(tree.base, current, target)
        LOG.info("%s", target - current)
        written = writer.write(current, target, allocations)
    # Unchanged trees of sharing providers have not been read again.
    others = [
        provider
        for provider in tree.base
        if new.exists(provider.uuid) and not written.exists(provider.uuid)
    ]
    return TreeSnapshot([*written, *others])


def _compare(
    api: RestApi, tree: ProviderTree, new: TreeSnapshot
) -> tuple[TreeSnapshot, TreeSnapshot]:
    """Return the current state of the tree in the service, and the state to write."""
    changes = new - tree.base
    roots = _roots_to_read([change.uuid for change in changes], tree.base, new)
    current: dict[str, ProviderData] = {}
    for root in roots:
        current |= {
            provider.uuid: provider for provider in tree_reader.read_tree(api, root, tree.base)
        }
    lost = [
        provider
        for provider in new
        if provider.uuid not in current and new.root(provider.uuid).uuid in roots
    ]
    try:
        target = TreeSnapshot(revised([*current.values(), *lost], changes))
    except ProviderTreeError as error:
        raise UpdateFailed(f"the tree was changed concurrently: {error}") from error
    return TreeSnapshot(current.values()), target


def _roots_to_read(changed: list[str], old: TreeSnapshot, new: TreeSnapshot) -> list[str]:
    """Return the roots of changed providers. The first root is always included.

    The first root may have been deleted. If a provider was moved from another tree, the root of
    that tree is also included.
    """
    first = next(chain(old, new), None)
    roots = [] if first is None else [first.uuid]
    for uuid in changed:
        roots += [snapshot.root(uuid).uuid for snapshot in (old, new) if snapshot.exists(uuid)]
    return list(dict.fromkeys(roots))


def _refuse_stale(base: TreeSnapshot, current: TreeSnapshot, target: TreeSnapshot) -> None:
    """Raise ReshapeFailed if a reshaped provider has been written since it was read.

    Each claim increments the generation of its providers. The allocations do not contain claims
    that were made after they were read. Such a claim must not be lost when the inventory is
    removed.
    """
    for provider in current:
        old, new = base.find(provider.uuid), target.find(provider.uuid)
        is_same_stock = new is not None and new.inventory == provider.inventory
        if old is not None and old.generation != provider.generation and not is_same_stock:
            raise ReshapeFailed(
                f"{provider.name}: another client has written to it since it was read; read tree "
                "and allocations again",
                is_stale=True,
            )
