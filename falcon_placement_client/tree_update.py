"""What was changed in a tree, written on top of what others have written meanwhile."""

import logging
from itertools import chain

from falcon_placement_client import tree_reader
from falcon_placement_client.allocation_records import AllocationRecords
from falcon_placement_client.errors import ProviderTreeError, ReshapeFailed, UpdateFailed
from falcon_placement_client.provider_data import ProviderData
from falcon_placement_client.provider_tree import ProviderTree, TreeSnapshot
from falcon_placement_client.rest import RestApi
from falcon_placement_client.tree_difference import revised
from falcon_placement_client.tree_writer import TreeWriter

LOG = logging.getLogger(__name__)


def update(
    api: RestApi, writer: TreeWriter, tree: ProviderTree, allocations: AllocationRecords | None
) -> TreeSnapshot:
    """Write what was changed in a tree, once; raise as `ReportClient.update_from_provider_tree`."""
    new = tree.snapshot()
    current, target = _compare(api, tree, new)
    written = current
    if target != current or allocations is not None:
        if allocations is not None:
            _refuse_stale(tree.base, current, target)
        LOG.info("%s", target - current)
        written = writer.write(current, target, allocations)
    # Further trees, of sharing providers, that were not changed were not read again.
    others = [
        provider
        for provider in tree.base
        if new.exists(provider.uuid) and not written.exists(provider.uuid)
    ]
    return TreeSnapshot([*written, *others])


def _compare(
    api: RestApi, tree: ProviderTree, new: TreeSnapshot
) -> tuple[TreeSnapshot, TreeSnapshot]:
    """Return what the service has of the tree, and what it is to have."""
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
        raise UpdateFailed(f"the tree has changed meanwhile: {error}") from error
    return TreeSnapshot(current.values()), target


def _roots_to_read(changed: list[str], old: TreeSnapshot, new: TreeSnapshot) -> list[str]:
    """Return the roots above what was changed, and always the first: somebody may have deleted it.

    Where one provider was moved from another tree, that is read, too.
    """
    first = next(chain(old, new), None)
    roots = [] if first is None else [first.uuid]
    for uuid in changed:
        roots += [snapshot.root(uuid).uuid for snapshot in (old, new) if snapshot.exists(uuid)]
    return list(dict.fromkeys(roots))


def _refuse_stale(base: TreeSnapshot, current: TreeSnapshot, target: TreeSnapshot) -> None:
    """Raise ReshapeFailed if somebody wrote to what is to be reshaped since it was read.

    Each claim moves the generation of its provider. One that was made after the allocations were
    read is not among them, and must not be left behind where the inventory goes away.
    """
    for provider in current:
        old, new = base.find(provider.uuid), target.find(provider.uuid)
        is_same_stock = new is not None and new.inventory == provider.inventory
        if old is not None and old.generation != provider.generation and not is_same_stock:
            raise ReshapeFailed(
                f"{provider.name}: somebody has written to it since the tree was read; read tree "
                "and allocations again",
                is_stale=True,
            )
