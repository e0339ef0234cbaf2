"""Changes that delete consumers, or transfer their allocations to another consumer."""

from collections.abc import Sequence

from placement.objects.allocation_change import (
    AllocationChange,
    AllocationState,
    MovedAmount,
    deltas,
    inventory_ids,
    root_ids,
    sums,
)
from placement.objects.claims import Claim
from placement.objects.consumers import AllocationRow, Consumer, ConsumerChange, stored_uuid


def release(
    consumers: Sequence[Consumer], unrecorded: Sequence[AllocationRow] = ()
) -> AllocationChange:
    """Return the change that deletes consumers, and allocations without a consumer's row.

    The generations of providers do not change.
    """
    rows = [row for consumer in consumers for row in consumer.allocations]
    rows += unrecorded
    return AllocationChange(
        ConsumerChange(created={}, updated=(), deleted=consumers),
        deleted_rows=rows,
        amounts=(),
        deltas=deltas(sums((row.key, row.used) for row in rows), {}),
        inventory_ids=inventory_ids(rows),
        root_ids=root_ids(rows),
        provider_ids=frozenset(),
        ids={},
    )


def take_over(state: AllocationState, hold: Consumer, claim: Claim) -> AllocationChange:
    """Return the change that transfers all allocations of a hold to a new consumer.

    The amounts are not checked again because they do not change. The generations of the providers
    are incremented, as in any other move.
    """
    created = stored_uuid(claim.consumer, {})
    unrecorded = state.unrecorded.get(claim.consumer, ())
    rows = [*hold.allocations, *unrecorded]
    roots = root_ids(rows)
    return AllocationChange(
        ConsumerChange(created={created: claim}, updated=(), deleted=(hold,)),
        deleted_rows=rows,
        amounts=[MovedAmount(created, row.key, row.used) for row in hold.allocations],
        deltas=deltas(sums((row.key, row.used) for row in unrecorded), {}),
        inventory_ids=inventory_ids(rows),
        root_ids=roots,
        provider_ids=frozenset(roots),
        ids=state.ids,
    )
