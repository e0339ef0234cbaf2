"""Groups become slots, and each slot gets the providers that could serve it alone.

Everything here looks at one provider at a time; what joins several slots is in `constraints`.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence

from placement.candidates.model import Lent, Member, Pool, Slot, Tree
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


def pool(anchor: Tree, sharing: Iterable[Lent]) -> Pool:
    """The members of the anchor's tree, then the sharing providers of other trees it reaches."""
    reached = tuple(
        lent
        for lent in sharing
        if lent.tree.id != anchor.id and not anchor.aggregates.isdisjoint(lent.member.aggregates)
    )
    if not reached:
        return Pool(anchor, anchor.members, ())
    return Pool(anchor, anchor.members + tuple(lent.member for lent in reached), reached)


class Demand:
    """What slots that ask the same ask of a provider, worked out once for a request."""

    def __init__(self, slot: Slot) -> None:
        group = slot.group
        self._resources = slot.resources
        self._conditions = tuple(_conditions(group))
        # Looks that one provider takes: what is asked of it, of which most is seen at a glance.
        asked = len(slot.resources) + len(group.required) + len(group.member_of)
        self.weight = 2 * (1 + len(slot.resources) + len(self._conditions)) + asked

    def able(self, of: Pool) -> list[int]:
        """The positions of the members that could serve."""
        found = [position for position, member in enumerate(of.members) if self._fits(member)]
        if not self._conditions:
            return found
        return [
            position for position in found if all(holds(of, position) for holds in self._conditions)
        ]

    def has_room(self, of: Pool) -> bool:
        """Whether some member could serve but for what is asked besides resources."""
        return any(map(self._fits, of.members))

    def _fits(self, member: Member) -> bool:
        for name, amount in self._resources:
            stock = member.stocks.get(name)
            if stock is None or not fits(stock, amount):
                return False
        return True


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


# Whether the member of the pool at this position meets one condition.
Condition = Callable[[Pool, int], bool]


def _conditions(group: RequestGroup) -> Iterator[Condition]:
    """What the group asks of a provider besides resources; only what it does ask."""
    if group.in_tree is not None:
        yield _InTree(group.in_tree)
    if group.forbidden:
        yield lambda of, position: group.forbidden.isdisjoint(of.members[position].traits)
    if group.suffixed and group.required:
        yield lambda of, position: all(
            not term.isdisjoint(of.members[position].traits) for term in group.required
        )
    if group.member_of or group.not_member_of:
        if group.suffixed:
            yield lambda of, position: _belongs(of.members[position], group)
        else:
            yield lambda of, position: _belongs_unsuffixed(of, position, group)


class _InTree:
    """The member stands in the tree of the provider with this uuid."""

    def __init__(self, uuid: str) -> None:
        self._uuid = uuid
        self._known: tuple[Tree | None, bool] = (None, False)  # the tree asked last, the answer

    def __call__(self, of: Pool, position: int) -> bool:
        tree = of.tree(position)
        if self._known[0] is not tree:
            self._known = (tree, tree.has(self._uuid))
        return self._known[1]


def _in_all(member: Member, terms: Iterable[frozenset[str]]) -> bool:
    return all(not term.isdisjoint(member.aggregates) for term in terms)


def _belongs(member: Member, group: RequestGroup) -> bool:
    """Membership of a suffixed group: the provider's own."""
    return _in_all(member, group.member_of) and group.not_member_of.isdisjoint(member.aggregates)


def _belongs_unsuffixed(of: Pool, position: int, group: RequestGroup) -> bool:
    """Membership of the unsuffixed group: the root's aggregates span its tree.

    A positive term is met by the provider, or by the root for members of its tree; a negated
    one must hold for the provider and for the anchor, whoever the provider is.
    """
    member, anchor = of.members[position], of.anchor
    spanned = anchor is not None and position < of.local and _in_all(anchor.root, group.member_of)
    if not spanned and not _in_all(member, group.member_of):
        return False
    if not group.not_member_of.isdisjoint(member.aggregates):
        return False
    return anchor is None or group.not_member_of.isdisjoint(anchor.root.aggregates)
