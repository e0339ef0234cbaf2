"""All ways to serve the slots of a request at one anchor, and anchors taken in turn.

A backtracking search that assigns providers to slots one after the other and steps back as
soon as a constraint says no. It never builds a product: the first candidate of a tree costs a
few steps per slot, and so does each one after it.
"""

from collections import Counter, deque
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from placement.candidates import slots as slotting
from placement.candidates import trail as reasons
from placement.candidates.constraints import CollectiveTraits, Constraint
from placement.candidates.joints import Options, constraints
from placement.candidates.model import Candidate, Common, Pool, Tree
from placement.candidates.request import CandidateRequest
from placement.candidates.subtrees import SameSubtree
from placement.candidates.trail import LOOKS, Trail

MOST_COMPARED = 100_000  # members and groups of the anchors that later ones are compared with


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
        asking = Counter(name for slot in self.wanted for name, _amount in slot.resources)
        self.contested = tuple(name for name, slots in asking.items() if slots > 1)
        together: Counter[str] = Counter()
        for slot in self.wanted:
            together.update(dict(slot.resources))
        suffixes = tuple(dict.fromkeys(slot.group.suffix for slot in self.wanted))
        self.common = Common(self.wanted, dict(together), suffixes)
        # PERF: hosts of one model are alike in all that a search looks at, so that one of them
        # is searched, and the others begin where it began.
        self._openings: dict[Hashable, Opening] = {}
        self._compared = 0

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

    def opening(self, key: Hashable) -> Opening | None:
        """How the search began at an anchor with this key."""
        return None if key is None else self._openings.get(key)

    def keep(self, key: Hashable, opening: Opening, pool: Pool) -> None:
        """Let later anchors of this key begin so, as far as there is room for keys."""
        self._compared += len(pool.members) + len(self.wanted)
        if key is not None and self._compared <= MOST_COMPARED:
            self._openings[key] = opening

    @property
    def kept(self) -> int:
        """How many openings are kept."""
        return len(self._openings)

    def alike(self, pool: Pool, options: Options) -> Hashable:
        """Equal for anchors whose searches begin in the same way; None: not to be compared.

        That is everything which `joints.constraints` reads.
        """
        if pool.lent or pool.anchor is None or len(pool.members) > MOST_COMPARED // 100:
            return None
        members = pool.members
        key: list[Hashable] = [tuple(options[slots[0]]) for _demand, slots in self.demands]
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
        self._trail.spend(LOOKS + len(assignment))
        return Candidate(self._plan.common, self._pool, tuple(assignment))

    def _begin(self) -> Sequence[int] | None:
        """The first assignment."""
        plan, trail = self._plan, self._trail
        trail.trees += 1
        options: Options = [[]] * len(self._wanted)
        local = self._pool.local
        serves = local == 0
        size = len(self._pool.members)
        trail.spend(size * len(plan.contested))
        for demand, slots in plan.demands:
            trail.spend(LOOKS + size * demand.weight)
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
        opening = plan.opening(key)
        if opening is not None:
            trail.step()
            if opening.only:
                self.exhausted = True
            else:
                self._more = islice(self._search(options), 1, None)
            return opening.first
        self._more = self._search(options)
        first = next(self._more, None)
        if first is not None:
            plan.keep(key, Opening(tuple(first), self.exhausted), self._pool)
        return first

    def _search(self, options: Options) -> Iterator[Sequence[int]]:
        plan, spend = self._plan, self._trail.spend
        joints = constraints(plan.request, plan.wanted, self._pool, options, spend)
        for constraint in joints:
            if not constraint.feasible():
                self._trail.refuse(constraint.reason)
                absent = tuple(plan.absent(self._pool))
                self._trail.lacking.update(absent)
                self._trail.barred.update(absent)
                return
        yield from self._assign(options, joints)

    def _assign(
        self, options: Options, constraints: Sequence[Constraint]
    ) -> Iterator[Sequence[int]]:
        """Yield slot -> choice for every assignment that all constraints accept."""
        order = _order(options, constraints)
        joined: list[list[Constraint]] = [[] for _slot in options]
        for constraint in constraints:
            self._trail.spend(len(constraint.slots))
            for slot in constraint.slots:
                joined[slot].append(constraint)
        of_slot = [joined[slot] for slot in order]
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
            self._trail.step(len(of_slot[depth]))
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
        self._known: set[tuple[str, ...]] = set()

    def seen(self, candidate: Candidate) -> bool:
        """Whether the candidate came before; notes it."""
        if not self._possible:
            return False
        key = candidate.providers
        if key in self._known:
            return True
        self._known.add(key)
        return False
