"""Groups become slots, and each slot gets the providers that could serve it alone.

Everything here looks at one provider at a time; what joins several slots is in `constraints`.
"""

from collections.abc import Iterable, Sequence

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
    own = [Choice(anchor, position) for position in range(len(anchor.members))]
    reached = [
        choice
        for choice in sharing
        if choice.tree.uuid != anchor.uuid
        and not anchor.aggregates.isdisjoint(choice.member.aggregates)
    ]
    return Pool(anchor, (*own, *reached), len(own))


def options(wanted: Sequence[Slot], of: Pool) -> list[list[int]]:
    """For each slot the positions of the choices that could serve it.

    Slots that ask the same get the same list. The first slot that nothing can serve ends the
    list of lists.
    """
    known: dict[tuple[object, ...], list[int]] = {}
    found: list[list[int]] = []
    for slot in wanted:
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
        if key not in known:
            known[key] = [
                position
                for position, choice in enumerate(of.choices)
                if _serves(slot, choice, of.anchor if position < of.local else None, of.anchor)
            ]
        if not known[key]:
            break
        found.append(known[key])
    return found


def _serves(slot: Slot, choice: Choice, own: Tree | None, anchor: Tree | None) -> bool:
    """Whether a provider could serve a slot; `own` is its tree if that is the anchor's."""
    member, group = choice.member, slot.group
    stocks = member.stocks
    for name, amount in slot.resources:
        stock = stocks.get(name)
        if stock is None or not fits(stock, amount):
            return False
    if group.in_tree is not None and not choice.tree.has(group.in_tree):
        return False
    if not group.forbidden.isdisjoint(member.traits):
        return False
    if group.suffixed:
        return all(not term.isdisjoint(member.traits) for term in group.required) and _belongs(
            member, group
        )
    return _belongs_unsuffixed(member, group, own, anchor)


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
