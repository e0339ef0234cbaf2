"""What joins the slots of a request at one anchor: its constraints, made of the pool."""

from collections.abc import Iterator, Sequence

from placement.candidates.constraints import (
    Capacity,
    CollectiveTraits,
    Constraint,
    Isolate,
    OnePerTree,
    union,
)
from placement.candidates.matching import Spend
from placement.candidates.model import Pool, Slot
from placement.candidates.request import CandidateRequest
from placement.candidates.subtrees import Forest, SameSubtree, parents

MOST_SIZES = 8  # amounts of one class that the look-ahead tells apart

Options = list[list[int]]  # slot -> positions of choices; slots that ask the same share a list


def constraints(
    request: CandidateRequest, wanted: Sequence[Slot], pool: Pool, options: Options, spend: Spend
) -> list[Constraint]:
    """Every condition on several slots that this request has, cheapest to check first.

    Narrows `options` where a required trait leaves a slot no choice.
    """
    made: list[Constraint] = []
    terms = next((group.required for group in request.groups if not group.suffixed), ())
    if terms:
        made.append(_collective_traits(terms, wanted, pool, options, spend))
    if not request.nested and len(wanted) > 1:
        trees = [pool.tree(position).id for position in range(len(pool.members))]
        made.append(OnePerTree(range(len(wanted)), trees))
    suffixed = [index for index, slot in enumerate(wanted) if slot.group.suffixed]
    isolated: list[int] = suffixed if request.isolate and len(suffixed) > 1 else []
    if isolated:
        made.append(Isolate({slot: options[slot] for slot in isolated}, spend))
    made += _capacities(wanted, pool, options, spend)
    if request.same_subtree:
        forest = Forest(parents(pool), spend)
        by_suffix = {wanted[slot].group.suffix: slot for slot in suffixed}
        for suffixes in request.same_subtree:
            spend(8 + 4 * len(suffixes))
            slots = sorted(by_suffix[suffix] for suffix in suffixes)
            joined = {slot: options[slot] for slot in slots}
            made.append(SameSubtree(joined, forest, bool(isolated), spend))
    return made


def _collective_traits(
    terms: Sequence[frozenset[str]],
    wanted: Sequence[Slot],
    pool: Pool,
    options: Options,
    spend: Spend,
) -> Constraint:
    slots = [index for index, slot in enumerate(wanted) if not slot.group.suffixed]
    able = sorted({position for slot in slots for position in options[slot]})
    spend(len(able) * len(terms) + len(slots) * (len(able) + len(terms)))
    bits = {}
    for position in able:
        traits = pool.members[position].traits
        bits[position] = sum(
            1 << at for at, term in enumerate(terms) if not term.isdisjoint(traits)
        )
    covers = {slot: {each: bits[each] for each in options[slot]} for slot in slots}
    possible = {slot: union(known.values()) for slot, known in covers.items()}
    for at in range(len(terms)):
        bringing = [slot for slot in slots if possible[slot] >> at & 1]
        if len(bringing) == 1:
            # Only this slot can bring the trait, so it must.
            (slot,) = bringing
            spend(2 * len(options[slot]))
            options[slot] = [each for each in options[slot] if bits[each] >> at & 1]
            covers[slot] = {each: bits[each] for each in options[slot]}
            possible[slot] = union(covers[slot].values())
    return CollectiveTraits(covers, (1 << len(terms)) - 1, spend)


def _capacities(
    wanted: Sequence[Slot], pool: Pool, options: Options, spend: Spend
) -> Iterator[Constraint]:
    """What several slots ask of one class fits together.

    One constraint sums all of them up. Its look-ahead takes every slot for as small as the
    smallest, so that further ones look at the larger slots alone.
    """
    amounts: dict[str, dict[int, int]] = {}
    for index, slot in enumerate(wanted):
        for name, amount in slot.resources:
            amounts.setdefault(name, {})[index] = amount
    for name, by_slot in amounts.items():
        for least in sorted(set(by_slot.values()))[:MOST_SIZES]:
            large = {slot: amount for slot, amount in by_slot.items() if amount >= least}
            if len(large) < 2:
                break
            serving = {slot: options[slot] for slot in large}
            room = {
                position: pool.members[position].stocks[name].room
                for positions in {id(each): each for each in serving.values()}.values()
                for position in positions
            }
            spend(2 * len(room) + len(large))
            yield Capacity(serving, large, room, spend)
