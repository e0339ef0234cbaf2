"""All ways to serve the slots of a request at one anchor, and anchors taken in turn.

A backtracking search that assigns providers to slots one after the other and steps back as
soon as a constraint says no. It never builds a product: the first candidate of a tree costs a
few steps per slot, and so does each one after it.
"""

from collections import Counter, deque
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from placement.candidates import slots as slotting
from placement.candidates import trail as reasons
from placement.candidates.constraints import (
    Capacity,
    CollectiveTraits,
    Constraint,
    Isolate,
    OnePerTree,
    SameSubtree,
    subtrees,
)
from placement.candidates.model import Candidate, Pool, Slot, Tree
from placement.candidates.request import CandidateRequest
from placement.candidates.trail import Trail

MOST_SIZES = 8  # amounts of one class that the look-ahead tells apart

Options = list[list[int]]  # slot -> positions of choices


@dataclass(frozen=True, slots=True)
class Opening:
    """How a search begins: its first assignment.

    only: there is no second assignment.
    """

    first: tuple[int, ...]
    only: bool


class Plan:
    """What a request asks of every anchor, worked out once."""

    def __init__(self, request: CandidateRequest) -> None:
        self.request = request
        self.wanted = slotting.slots(request)
        self.demands = slotting.demands(self.wanted)
        self.terms = next((group.required for group in request.groups if not group.suffixed), ())
        self.suffixes = tuple(dict.fromkeys(slot.group.suffix for slot in self.wanted))
        asking = Counter(name for slot in self.wanted for name, _amount in slot.resources)
        self.contested = tuple(name for name, slots in asking.items() if slots > 1)
        together: Counter[str] = Counter()
        for slot in self.wanted:
            together.update(dict(slot.resources))
        self.together = dict(together)  # what one provider gives that serves all
        # PERF: hosts of one model are alike in all that a search looks at, so that one of them
        # is searched, and the others begin where it began.
        self.openings: dict[Hashable, Opening] = {}

    def admits(self, anchor: Tree) -> bool:
        """Whether the anchor's root is as the request wants it."""
        required, forbidden = self.request.root_required, self.request.root_forbidden
        traits = anchor.root.traits
        return required <= traits and forbidden.isdisjoint(traits)

    def absent(self, pool: Pool) -> Iterator[Hashable]:
        """The terms of traits that no provider of the pool meets."""
        for term in self.terms:
            if all(term.isdisjoint(member.traits) for member in pool.members):
                yield term

    def alike(self, pool: Pool, options: Options) -> Hashable:
        """Equal for anchors whose searches begin in the same way; None: not to be compared.

        That is everything which `_constraints` reads.
        """
        if pool.lent or pool.anchor is None:
            return None
        members = pool.members
        key: list[Hashable] = [tuple(positions) for positions in options]
        if self.request.same_subtree:
            key.append(tuple([member.parent for member in members]))
        if self.terms:
            key.append(tuple([member.traits for member in members]))
        for name in self.contested:
            stocks = [member.stocks.get(name) for member in members]
            key.append(tuple([stock and stock.room for stock in stocks]))
        return tuple(key)


class Search:
    """The candidates of one anchor, one at a time.

    `exhausted` turns true with the last candidate that there can be, so that a search which is
    done need not be kept.
    """

    def __init__(self, plan: Plan, pool: Pool, trail: Trail) -> None:
        self.exhausted = False
        self._plan = plan
        self._wanted = plan.wanted
        self._pool = pool
        self._trail = trail
        self._more: Iterator[Sequence[int]] | None = None

    def next(self) -> Candidate | None:
        """The next candidate, or None.  Raises BudgetSpentError."""
        if self._more is None:
            self._more = iter(())
            assignment = self._begin()
            self._trail.served += assignment is not None
        else:
            assignment = next(self._more, None)
        if assignment is None:
            self.exhausted = True
            return None
        return self._candidate(assignment)

    def _begin(self) -> Sequence[int] | None:
        """The first assignment."""
        plan, trail = self._plan, self._trail
        trail.trees += 1
        options: Options = [[]] * len(self._wanted)
        local = self._pool.local
        serves = local == 0
        for demand, slots in plan.demands:
            able = demand.able(self._pool)
            if not able:
                trail.refuse(reasons.NO_PROVIDER, self._wanted[slots[0]].group.suffix)
                trail.lacking[slots[0]] += 1
                trail.barred[slots[0]] += demand.has_room(self._pool)
                return None
            serves = serves or able[0] < local
            for slot in slots:
                options[slot] = able
        if not serves:
            return None  # all comes from elsewhere: found once, not at every anchor
        key = plan.alike(self._pool, options)
        opening = plan.openings.get(key)
        if opening is not None:
            trail.step()
            if opening.only:
                self.exhausted = True
            else:
                self._more = islice(self._search(options), 1, None)
            return opening.first
        self._more = self._search(options)
        first = next(self._more, None)
        if first is not None and key is not None:
            plan.openings[key] = Opening(tuple(first), self.exhausted)
        return first

    def _search(self, options: Options) -> Iterator[Sequence[int]]:
        constraints = _constraints(self._plan, self._pool, options)
        for constraint in constraints:
            if not constraint.feasible():
                self._trail.refuse(constraint.reason)
                absent = tuple(self._plan.absent(self._pool))
                self._trail.lacking.update(absent)
                self._trail.barred.update(absent)
                return
        yield from self._assign(options, constraints)

    def _assign(
        self, options: Options, constraints: Sequence[Constraint]
    ) -> Iterator[Sequence[int]]:
        """Yield slot -> choice for every assignment that all constraints accept."""
        order = _order(options, constraints)
        of_slot = [[each for each in constraints if slot in each.slots] for slot in order]
        last = len(order) - 1
        tried = [-1] * len(order)  # by depth: position in the slot's options
        assignment = [-1] * len(order)
        depth = 0
        while depth >= 0:
            slot = order[depth]
            if assignment[slot] >= 0:
                for constraint in reversed(of_slot[depth]):
                    constraint.remove(slot, assignment[slot])
                assignment[slot] = -1
            tried[depth] += 1
            if tried[depth] == len(options[slot]):
                tried[depth] = -1
                depth -= 1
                continue
            provider = options[slot][tried[depth]]
            self._trail.step()
            if not self._add(of_slot[depth], slot, provider):
                continue
            assignment[slot] = provider
            if depth < last:
                depth += 1
                continue
            self.exhausted = all(
                position == len(options[each]) - 1
                for position, each in zip(tried, order, strict=True)
            )
            yield assignment
            if self.exhausted:
                return

    def _add(self, constraints: Sequence[Constraint], slot: int, provider: int) -> bool:
        for count, constraint in enumerate(constraints):
            if not constraint.add(slot, provider):
                self._trail.refuse(constraint.reason)
                for added in reversed(constraints[:count]):
                    added.remove(slot, provider)
                return False
        return True

    def _candidate(self, assignment: Sequence[int]) -> Candidate:
        first = assignment[0]
        if assignment.count(first) == len(assignment) and self._plan.together:
            # PERF: the flat cloud's case.
            one = (self._pool.members[first].uuid,)
            return Candidate(
                {one[0]: self._plan.together},
                dict.fromkeys(self._plan.suffixes, one),
                (self._pool.tree(first),),
            )
        allocations: dict[str, dict[str, int]] = {}
        mappings: dict[str, tuple[str, ...]] = {}
        trees: dict[int, Tree] = {}
        for slot, position in zip(self._wanted, assignment, strict=True):
            uuid = self._pool.members[position].uuid
            if slot.resources:
                amounts = allocations.setdefault(uuid, {})
                for name, amount in slot.resources:
                    amounts[name] = amounts.get(name, 0) + amount
                tree = self._pool.tree(position)
                trees[tree.id] = tree
            served = mappings.get(slot.group.suffix, ())
            if uuid not in served:
                mappings[slot.group.suffix] = (*served, uuid)
        return Candidate(allocations, mappings, tuple(trees.values()))


def _order(options: Options, constraints: Sequence[Constraint]) -> list[int]:
    """Slots in the order of search: fewest options first, joined ones before free ones.

    A slot that nothing joins to others can never be a dead end, so it comes last.
    """
    joined: set[int] = set()
    for constraint in constraints:
        if isinstance(constraint, SameSubtree | CollectiveTraits):
            joined |= constraint.slots
    return sorted(
        range(len(options)),
        key=lambda slot: (len(options[slot]) > 1, slot not in joined, len(options[slot])),
    )


def _constraints(plan: Plan, pool: Pool, options: Options) -> list[Constraint]:
    """Every condition on several slots that this request has, cheapest to check first.

    Narrows `options` where a required trait leaves a slot no choice.
    """
    request, wanted = plan.request, plan.wanted
    found: list[Constraint] = []
    if plan.terms:
        found.append(_collective_traits(plan.terms, wanted, pool, options))
    if not request.nested and len(wanted) > 1:
        trees = [pool.tree(position).id for position in range(len(pool.members))]
        found.append(OnePerTree(range(len(wanted)), trees))
    suffixed = [index for index, slot in enumerate(wanted) if slot.group.suffixed]
    isolated: list[int] = suffixed if request.isolate and len(suffixed) > 1 else []
    if isolated:
        found.append(Isolate({slot: options[slot] for slot in isolated}))
    found += _capacities(wanted, pool, options)
    if request.same_subtree:
        below = subtrees(pool)
        by_suffix = {wanted[slot].group.suffix: slot for slot in suffixed}
        for suffixes in request.same_subtree:
            slots = sorted(by_suffix[suffix] for suffix in suffixes)
            found.append(_same_subtree(slots, options, below, bool(isolated)))
    return found


def _same_subtree(
    slots: Sequence[int], options: Options, below: Sequence[int], isolated: bool
) -> Constraint:
    def can_host(ancestor: int) -> bool:
        """Whether the ancestor's subtree has a provider of its own for every slot."""
        inside = {
            slot: [each for each in options[slot] if below[ancestor] >> each & 1] for slot in slots
        }
        return not isolated or Isolate(inside).feasible()

    return SameSubtree({slot: options[slot] for slot in slots}, below, can_host)


def _collective_traits(
    terms: Sequence[frozenset[str]], wanted: Sequence[Slot], pool: Pool, options: Options
) -> Constraint:
    def bits(position: int) -> int:
        traits = pool.members[position].traits
        return sum(1 << at for at, term in enumerate(terms) if not term.isdisjoint(traits))

    covers = {
        index: {position: bits(position) for position in options[index]}
        for index, slot in enumerate(wanted)
        if not slot.group.suffixed
    }
    for at in range(len(terms)):
        able = [slot for slot, known in covers.items() if any(b >> at & 1 for b in known.values())]
        if len(able) == 1:
            # Only this slot can bring the trait, so it must.
            (slot,) = able
            options[slot] = [each for each in options[slot] if covers[slot][each] >> at & 1]
            covers[slot] = {each: covers[slot][each] for each in options[slot]}
    return CollectiveTraits(covers, (1 << len(terms)) - 1)


def _capacities(wanted: Sequence[Slot], pool: Pool, options: Options) -> Iterator[Constraint]:
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
                for positions in serving.values()
                for position in positions
            }
            yield Capacity(serving, large, room)


def take_turns(
    searches: Iterable[Search],
    limit: int | None,
    breadth_first: bool,
    lent: bool = True,
) -> Iterator[Candidate]:
    """Yield candidates of all searches, without repeats, `limit` at the most.

    lent: some sharing provider may serve at several anchors.

    Breadth first: one of each search in turn, as the searches arrive, and then again of those
    that have more. Depth first: all of one search before the next.
    """
    repeats = Repeats(lent)
    waiting: deque[Search] = deque()
    count = 0
    for search in searches:
        found = 0
        while not search.exhausted and (found == 0 or not breadth_first):
            candidate = search.next()
            if candidate is None or repeats.seen(candidate):
                continue
            yield candidate
            found += 1
            count += 1
            if count == limit:
                return
        if not search.exhausted:
            waiting.append(search)
    while waiting:
        search = waiting.popleft()
        candidate = search.next()
        if not search.exhausted:
            waiting.append(search)
        if candidate is None or repeats.seen(candidate):
            continue
        yield candidate
        count += 1
        if count == limit:
            return


class Repeats:
    """Candidates that came before: sharing providers alone may serve at several anchors."""

    def __init__(self, lent: bool) -> None:
        # Without sharing providers anchors have nothing in common, and a search repeats nothing.
        self._possible = lent
        self._known: set[tuple[object, ...]] = set()

    def seen(self, candidate: Candidate) -> bool:
        """Whether the candidate came before; notes it."""
        if not self._possible:
            return False
        key = (_frozen(candidate.allocations), frozenset(candidate.mappings.items()))
        if key in self._known:
            return True
        self._known.add(key)
        return False


def _frozen(allocations: Mapping[str, Mapping[str, int]]) -> frozenset[object]:
    return frozenset((uuid, frozenset(amounts.items())) for uuid, amounts in allocations.items())
