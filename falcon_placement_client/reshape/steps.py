"""Apply the steps of a transformation to a draft."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate, pairwise
from typing import Any

from falcon_placement_client.errors import ProviderTreeError
from falcon_placement_client.inventory import InventoryRecord
from falcon_placement_client.provider_data import Inventories, ProviderData
from falcon_placement_client.reshape.draft import Draft, Misfit, usage
from falcon_placement_client.reshape.packing import Bin, pack, pack_in_parts
from falcon_placement_client.reshape.reshapefile import (
    Child,
    Give,
    Move,
    Rename,
    Step,
    Transformation,
)

Records = dict[str, InventoryRecord]  # by class


def transform(draft: Draft, transformation: Transformation) -> None:
    """Apply all steps to a draft.  Raises Misfit."""
    for step in transformation.steps:
        try:
            _apply(step, draft)
        except Misfit as misfit:
            misfit.line = step.line
            raise
    draft.check()


def affects(step: Step, provider: ProviderData) -> bool:
    """Return whether a step would change a provider."""
    if not step.providers.matches(provider):
        return False
    match step:
        case Give():
            return not step.traits <= provider.traits
        case Rename():
            return not step.names.keys().isdisjoint(provider.inventory)
        case Move():
            return not provider.inventory.keys().isdisjoint(step.classes)


def _apply(step: Step, draft: Draft) -> None:
    for provider in [provider for provider in draft.own if affects(step, provider)]:
        match step:
            case Give():
                draft.tree.add_traits(provider.uuid, *step.traits)
            case Rename():
                _rename(provider, step, draft)
            case Move():
                _move(provider, step, draft)


def _rename(provider: ProviderData, step: Rename, draft: Draft) -> None:
    names = {old: new for old, new in step.names.items() if old in provider.inventory}
    for old, new in names.items():
        if new in provider.inventory:
            raise Misfit(provider.name, f"{old} cannot become {new}, which it has already")
    inventory = {names.get(name, name): record for name, record in provider.inventory.items()}
    draft.tree.update_inventory(provider.uuid, inventory)
    for consumer, amounts in draft.holdings(provider.uuid).items():
        if amounts.keys() & names.keys():
            draft.rename(consumer, provider.uuid, names)


def _move(provider: ProviderData, step: Move, draft: Draft) -> None:
    """Move inventories of one provider, with the allocations from them, to its children."""
    remaining = dict(provider.inventory)
    moving = {name: remaining.pop(name) for name in step.classes if name in remaining}
    children = [draft.child(child.name_for(provider.name), provider) for child in step.children]
    shares = _shares(provider, moving, step.children)
    used = usage(draft.records)
    for child, share, described in zip(children, shares, step.children, strict=True):
        draft.tree.add_traits(child.uuid, *described.traits)
        _stock(child, share, draft)
    draft.tree.update_inventory(provider.uuid, remaining)
    bins = [Bin(draft.tree.data(each.uuid).inventory, used[each.uuid]) for each in children]
    for consumer, position, amounts in _assign(provider, moving, bins, step, draft):
        draft.shift(consumer, amounts, provider.uuid, children[position].uuid)


def _stock(child: ProviderData, share: Inventories, draft: Draft) -> None:
    """Add a share to a child.

    Existing inventories of the child keep their units and their ratio.
    """
    inventory = {**share, **child.inventory}
    for name in share.keys() & child.inventory.keys():
        old, added = child.inventory[name], share[name]
        total, reserved = old.total + added.total, old.reserved + added.reserved
        inventory[name] = replace(old, total=total, reserved=reserved)
    try:
        draft.tree.update_inventory(child.uuid, inventory)
    except ProviderTreeError as error:
        raise Misfit(child.name, str(error).removeprefix(f"{child.name}: ")) from None


def _assign(
    provider: ProviderData, moving: Inventories, bins: Sequence[Bin], step: Move, draft: Draft
) -> Iterator[tuple[str, int, Mapping[str, int]]]:
    """Yield (consumer, index of a child, amounts).  Raises Misfit."""
    by_consumer: dict[str, Mapping[str, int]] = {}
    for consumer, amounts in draft.holdings(provider.uuid).items():
        if holding := {name: amount for name, amount in amounts.items() if name in moving}:
            by_consumer[consumer] = holding
    consumers, holdings = list(by_consumer), list(by_consumer.values())

    # First, try to place each holding in one child.
    positions = pack(holdings, bins)
    if positions is not None:
        yield from zip(consumers, positions, holdings, strict=True)
        return

    # If this fails, divide some of the holdings, if the step allows it.
    parts = pack_in_parts(holdings, bins)
    if isinstance(parts, int):
        what = f"{_text(holdings[parts])} of consumer {consumers[parts]}"
        text = f"the children have no room for the {what}: expected larger children"
        raise Misfit(provider.name, text)
    for consumer, whole, by_position in zip(consumers, holdings, parts, strict=True):
        if len(by_position) > 1 and not step.split:
            what = f"{_text(whole)} of consumer {consumer}"
            text = f"no child has room for the {what}: expected larger children, or split: true"
            raise Misfit(provider.name, text)
        for position, part in by_position.items():
            yield consumer, position, part


def _text(amounts: Mapping[str, int]) -> str:
    return ", ".join(f"{amount:,} {name}" for name, amount in amounts.items())


def _shares(
    provider: ProviderData, moving: Inventories, children: Sequence[Child]
) -> list[Records]:
    """Return the records of each child.  Raises Misfit."""
    shares: list[Records] = [{} for _ in children]
    for name, record in moving.items():
        stated: list[Mapping[str, Any]] = [child.stated.get(name, {}) for child in children]
        totals = _totals(provider, name, record.total, stated)
        reserved = _proportions(record.reserved, totals)
        for i, share in enumerate(shares):
            if totals[i]:
                shared = {"reserved": reserved[i], **stated[i], "total": totals[i]}
                share[name] = replace(record, **shared)
    return shares


def _totals(
    provider: ProviderData, name: str, total: int, stated: Sequence[Mapping[str, int | float]]
) -> list[int]:
    """Return the total of each child: the stated total, or an equal share of the remainder."""
    stated_total = sum(int(record.get("total", 0)) for record in stated)
    rest = total - stated_total
    weights = [int("total" not in record) for record in stated]
    if rest < 0 or (rest and not any(weights)):
        sums = f"add up to {stated_total}, expected {total}, which is to move"
        raise Misfit(provider.name, f"the children's totals of {name} {sums}")
    shares = _proportions(rest, weights)
    return [int(record.get("total", share)) for record, share in zip(stated, shares, strict=True)]


def _proportions(amount: int, weights: Sequence[int]) -> list[int]:
    """Return integers in the given proportions. The sum of the integers is the amount."""
    # Round the cumulative sums up instead of the shares, so that no remainder is left.
    weight_sum = max(1, sum(weights))
    sums = [0, *(-(-amount * weight // weight_sum) for weight in accumulate(weights))]
    return [after - before for before, after in pairwise(sums)]
