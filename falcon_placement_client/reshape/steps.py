"""Apply the steps of a transformation to a draft."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from falcon_placement_client.errors import ProviderTreeError
from falcon_placement_client.inventory import InventoryRecord
from falcon_placement_client.provider_data import Inventories, ProviderData
from falcon_placement_client.reshape.draft import Draft, Misfit
from falcon_placement_client.reshape.packing import Bin, pack, pack_in_parts
from falcon_placement_client.reshape.transformation import (
    Child,
    Give,
    Move,
    Rename,
    Step,
    Transformation,
)

Records = dict[str, InventoryRecord]  # by class


def transform(draft: Draft, transformation: Transformation) -> None:
    """Apply all steps to a draft.

    Raises:
        Misfit: the service would reject the result. The error has the provider and the line of the
        step. The draft must not be used any more.
    """
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
    for provider in draft.matching(step.providers):
        if not affects(step, provider):
            continue
        match step:
            case Give():
                draft.tree.add_traits(provider.uuid, *step.traits)
            case Rename():
                _rename(provider, step, draft)
            case Move():
                _move(provider, step, draft)


def _rename(provider: ProviderData, step: Rename, draft: Draft) -> None:
    names: dict[str, str] = {}
    for old, new in step.names.items():
        if old not in provider.inventory:
            continue
        if new in provider.inventory:
            raise Misfit(provider.name, f"{old} cannot become {new}, which it has already")
        names[old] = new
    inventory: Records = {}
    for name, record in provider.inventory.items():
        inventory[names.get(name, name)] = record
    draft.tree.update_inventory(provider.uuid, inventory)
    for consumer, amounts in draft.holdings(provider.uuid).items():
        if amounts.keys() & names.keys():
            draft.rename(consumer, provider.uuid, names)


def _move(provider: ProviderData, step: Move, draft: Draft) -> None:
    """Move inventories of one provider, with the allocations from them, to its children."""
    remaining: Records = dict(provider.inventory)
    moving: Records = {}
    for name in step.classes:
        if name in remaining:
            moving[name] = remaining.pop(name)
    children = [draft.child(child.name_for(provider.name), provider) for child in step.children]
    shares = _shares(provider, moving, step.children)
    used = draft.used()
    for child, share, described in zip(children, shares, step.children, strict=True):
        draft.tree.add_traits(child.uuid, *described.traits)
        _stock(child, share, draft)
    draft.tree.update_inventory(provider.uuid, remaining)
    bins: list[Bin] = []
    for child in children:
        inventory = draft.tree.data(child.uuid).inventory
        bins.append(Bin(inventory, used[child.uuid]))
    for consumer, position, amounts in _assign(provider, moving, bins, step, draft):
        draft.shift(consumer, amounts, provider.uuid, children[position].uuid)


def _stock(child: ProviderData, share: Inventories, draft: Draft) -> None:
    """Add a share to a child.

    Existing inventories of the child keep their units and their ratio.
    """
    inventory: dict[str, InventoryRecord] = dict(child.inventory)
    for name, record in share.items():
        if name in inventory:
            old = inventory[name]
            total = old.total + record.total
            reserved = old.reserved + record.reserved
            inventory[name] = replace(old, total=total, reserved=reserved)
        else:
            inventory[name] = record
    try:
        draft.tree.update_inventory(child.uuid, inventory)
    except ProviderTreeError as error:
        raise Misfit(child.name, str(error).removeprefix(f"{child.name}: ")) from None


def _assign(
    provider: ProviderData,
    moving: Inventories,
    bins: Sequence[Bin],
    step: Move,
    draft: Draft,
) -> Iterator[tuple[str, int, Mapping[str, int]]]:
    """Yield (consumer, index of a child, amounts).

    Raises:
        Misfit: not all holdings can be placed.
    """
    consumers, holdings = [], []
    for consumer, amounts in draft.holdings(provider.uuid).items():
        holding = {name: amount for name, amount in amounts.items() if name in moving}
        if holding:
            consumers.append(consumer)
            holdings.append(holding)

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
    for consumer, holding, by_position in zip(consumers, holdings, parts, strict=True):
        if len(by_position) > 1 and not step.split:
            what = f"{_text(holding)} of consumer {consumer}"
            text = f"no child has room for the {what}: expected larger children, or split: true"
            raise Misfit(provider.name, text)
        for position, amounts in by_position.items():
            yield consumer, position, amounts


def _text(amounts: Mapping[str, int]) -> str:
    return ", ".join(f"{amount:,} {name}" for name, amount in amounts.items())


def _shares(
    provider: ProviderData, moving: Inventories, children: Sequence[Child]
) -> list[Records]:
    """Return the records of each child.  Raises Misfit."""
    shares: list[Records] = [{} for _ in children]
    for name, record in moving.items():
        stated: list[dict[str, Any]] = []
        for child in children:
            records = child.stated or {}
            stated.append(dict(records.get(name, {})))
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
    totals: list[int] = []
    open_positions: list[int] = []
    for i, record in enumerate(stated):
        totals.append(int(record.get("total", 0)))
        if "total" not in record:
            open_positions.append(i)
    stated_total = sum(totals)
    rest = total - stated_total
    if rest < 0 or (rest and not open_positions):
        sums = f"add up to {stated_total}, expected {total}, which is to move"
        raise Misfit(provider.name, f"the children's totals of {name} {sums}")
    equal_weights = [1] * len(open_positions)
    for i, share in zip(open_positions, _proportions(rest, equal_weights), strict=True):
        totals[i] = share
    return totals


def _proportions(amount: int, weights: Sequence[int]) -> list[int]:
    """Return integers in the given proportions. The sum of the integers is the amount."""
    weight_sum = sum(weights)
    shares: list[int] = []
    weight_so_far = 0
    for weight in weights:
        weight_so_far += weight
        # Round the cumulative sums up instead of the shares, so that no remainder is left.
        shares.append(-(-amount * weight_so_far // weight_sum) - sum(shares))
    return shares
