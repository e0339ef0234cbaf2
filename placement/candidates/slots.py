"""Groups become slots, and each slot gets the providers that could serve it alone.

Everything here looks at one provider at a time; what joins several slots is in `constraints`.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import repeat

from placement.candidates.model import Choice, Member, Pool, Slot, Tree
from placement.candidates.request import CandidateRequest, RequestGroup
from placement.objects.capacity import fits


def slots(request: CandidateRequest) -> tuple[Slot, ...]:
    """One slot for each suffixed group, one for each class of the unsuffixed group."""
    made: list[Slot] = []
    for group in request.groups:
        if group.suffixed:
            made.append(Slot(group, group.resources))
        else:
            made += [Slot(group, (resource,)) for resource in group.resources]
    return tuple(made)


def pool(anchor: Tree, sharing: Iterable[Choice]) -> Pool:
    """The members of the anchor's tree, then the sharing providers of other trees it reaches."""
    own = tuple(map(Choice, repeat(anchor), anchor.members, range(len(anchor.members))))
    reached = tuple(
        choice
        for choice in sharing
        if choice.tree.uuid != anchor.uuid
        and not anchor.aggregates.isdisjoint(choice.member.aggregates)
    )
    return Pool(anchor, own + reached, len(own))


class Demand:
    """What slots that ask the same ask of a provider, worked out once for a request."""

    def __init__(self, slot: Slot) -> None:
        self._resources = slot.resources
        self._conditions = tuple(_conditions(slot.group))

    def able(self, of: Pool) -> list[int]:
        """The positions of the choices that could serve."""
        found = []
        for position, choice in enumerate(of.choices):
            stocks = choice.member.stocks
            for name, amount in self._resources:
                stock = stocks.get(name)
                if stock is None or not fits(stock, amount):
                    break
            else:
                own = of.anchor if position < of.local else None
                if not self._conditions or all(
                    holds(choice, own, of.anchor) for holds in self._conditions
                ):
                    found.append(position)
        return found


def demands(wanted: Sequence[Slot]) -> list[tuple[Demand, list[int]]]:
    """The different demands, each with the slots (by position) that have it."""
    known: dict[tuple[object, ...], tuple[Demand, list[int]]] = {}
    for position, slot in enumerate(wanted):
        group = slot.group
        key = (
            group.suffixed,
            slot.resources,
            group.required if group.suffixed else (),
            group.forbidden,
            group.member_of,
            group.not_member_of,
            group.in_tree,
        )
        known.setdefault(key, (Demand(slot), []))[1].append(position)
    return list(known.values())


# Whether a provider meets one condition; the trees are the anchor's if that is also its own,
# and the anchor's in any case.
Condition = Callable[[Choice, Tree | None, Tree | None], bool]


def _conditions(group: RequestGroup) -> Iterator[Condition]:
    """What the group asks of a provider besides resources; only what it does ask."""
    tree = group.in_tree
    if tree is not None:
        yield lambda choice, _own, _anchor: choice.tree.has(tree)
    if group.forbidden:
        yield lambda choice, _own, _anchor: group.forbidden.isdisjoint(choice.member.traits)
    if group.suffixed and group.required:
        yield lambda choice, _own, _anchor: all(
            not term.isdisjoint(choice.member.traits) for term in group.required
        )
    if group.member_of or group.not_member_of:
        if group.suffixed:
            yield lambda choice, _own, _anchor: _belongs(choice.member, group)
        else:
            yield lambda choice, own, anchor: _belongs_unsuffixed(choice.member, group, own, anchor)


def _in_all(member: Member, terms: Iterable[frozenset[str]]) -> bool:
    return all(not term.isdisjoint(member.aggregates) for term in terms)


def _belongs(member: Member, group: RequestGroup) -> bool:
    """Membership of a suffixed group: the provider's own."""
    return _in_all(member, group.member_of) and group.not_member_of.isdisjoint(member.aggregates)


def _belongs_unsuffixed(
    member: Member, group: RequestGroup, own: Tree | None, anchor: Tree | None
) -> bool:
    """Membership of the unsuffixed group: the root's aggregates span its tree.

    A positive term is met by the provider, or by the root for members of its tree; a negated
    one must hold for the provider and for the anchor, whoever the provider is.
    """
    spanned = own is not None and _in_all(own.root, group.member_of)
    if not spanned and not _in_all(member, group.member_of):
        return False
    if not group.not_member_of.isdisjoint(member.aggregates):
        return False
    return anchor is None or group.not_member_of.isdisjoint(anchor.root.aggregates)
