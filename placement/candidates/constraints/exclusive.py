"""Exclusive providers: a card serves by one of its classes, or by its descendants."""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from operator import attrgetter, itemgetter
from typing import ClassVar, NamedTuple, Self, TypeVar

from placement.candidates.constraints.base import Constraint, Undo
from placement.candidates.model import Member, OptionList, Options, Pool, Refusal, Row
from placement.candidates.plan import SearchPlan
from placement.objects.cards import BELOW, CardFace, clashes
from placement.runtime.budget import COST_PER_PROVIDER, Charge

# Id of the root and position in the tree. The id is 0 for trees of anchors, so that equal hosts
# have equal keys.
CardKey = tuple[int, int]
Face = CardFace[CardKey]

Providers = TypeVar("Providers", bound=Sequence[int])

# Returns provider -> number of consumers that it can serve alone, for a slot and its providers.
CountSeats = Callable[[int, Sequence[int]], Mapping[int, int]]


class _Line(NamedTuple):
    """The cards that a provider belongs to."""

    # The cards above the provider.
    above: tuple[CardKey, ...] = ()
    # The key of the provider, or None if it is no card.
    itself: CardKey | None = None


class Cards:
    """The cards that the members of a pool are, or belong to."""

    def __init__(self, plan: SearchPlan, pool: Pool, *, in_use: bool = True) -> None:
        """Find the cards.

        Args:
            plan: plan of the request.
            pool: the providers.
            in_use: whether the usages of the cards count.
        """
        # Slot -> its classes, for the slots with resources.
        self.classes: dict[int, Sequence[str]] = {}
        self._pool = pool
        # The traits of cards.
        self._traits = plan.request.special_traits.cards
        self._in_use = in_use
        # Position in the pool -> the cards of the provider. Others have no card.
        self._lines: dict[int, _Line] = {}
        # Card -> name of a face -> the classes in use.
        self._used: dict[CardKey, dict[str, set[str]]] = {}
        if not self._traits:  # PERF: most services have no card
            return
        for slot, (_group, resources) in enumerate(plan.slots):
            if resources:
                self.classes[slot] = [name for name, _units in resources]
        local = pool.local if pool.anchor is not None else 0
        self._add(0, dict(enumerate(pool.members[:local])), dict(enumerate(range(local))))
        of_trees: dict[int, dict[int, int]] = {}
        for number, sharing in enumerate(pool.sharing, local):
            of_trees.setdefault(sharing.tree.id, {})[sharing.position] = number
        for sharing in pool.sharing:
            positions = of_trees.pop(sharing.tree.id, {})
            # The pool may contain a later state of its members.
            later = {each: pool.members[number] for each, number in positions.items()}
            members = {**dict(enumerate(sharing.tree.members)), **later}
            self._add(sharing.tree.id, members, positions)

    def _add(
        self, tree_id: int, members: Mapping[int, Member], positions: Mapping[int, int]
    ) -> None:
        """Add a tree. positions: position in the tree -> position in the pool."""
        if all(self._traits.isdisjoint(member.traits) for member in members.values()):
            return
        lines: dict[int, _Line] = {-1: _Line()}
        for position, member in members.items():  # parents come before children
            above, parent = lines[member.parent]
            line = _Line(above if parent is None else (*above, parent))
            if not self._traits.isdisjoint(member.traits):
                line = line._replace(itself=(tree_id, position))
            lines[position] = line
            for name, stock in member.stocks.items():
                if stock.used and self._in_use:
                    for card, face in _faces(line, [name]):
                        self._used.setdefault(card, {}).setdefault(face, set()).add(name)
        self._lines |= {pooled: lines[position] for position, pooled in positions.items()}

    def __bool__(self) -> bool:
        return any(line != _Line() for line in self._lines.values())

    def faces(self, position: int, names: Iterable[str]) -> list[Face]:
        """Return the faces that a provider uses if it serves some classes."""
        return list(_faces(self._lines.get(position, _Line()), names))

    def faces_of(self, usage: Iterable[Row]) -> list[Face]:
        """Return the faces that a usage of the pool belongs to."""
        return list(chain(*[self.faces(position, [name]) for position, name in usage]))

    def allow(self, faces: Iterable[Face]) -> bool:
        """Return whether the faces may be used together, and with those that are in use."""
        return not clashes(self._used, faces)

    def allow_serving(self, serving: Iterable[tuple[int, int]]) -> bool:
        """Return whether providers, as (slot, provider), may serve slots or parts together."""
        faces = [self.faces(each, self.classes.get(slot, ())) for slot, each in serving]
        return self.allow(chain(*faces))

    def blocking(self, faces: Iterable[Face]) -> set[str]:
        """Return the classes in use that exclude any of the faces."""
        others = clashes(self._used, faces).values()
        return set().union(*[self._used.get(card, {}).get(name, ()) for card, name in others])

    def usable(self, options: Sequence[Providers]) -> list[Providers | OptionList]:
        """Return slot -> the providers that do not already serve otherwise."""
        narrowed: list[Providers | OptionList] = list(options)
        known: dict[Hashable, OptionList] = {}
        for slot, names in self.classes.items() if self else ():
            key = id(options[slot]), tuple(names)
            if key not in known:
                known[key] = OptionList(
                    [each for each in options[slot] if self.allow(self.faces(each, names))]
                )
            narrowed[slot] = known[key]
        return narrowed

    def best_ways(self, options: Options, count_seats: CountSeats) -> tuple[int, Options] | None:
        """Return an upper bound of consumers, and the options that use the best way of each card.

        The best way has the most seats for the slot for which all cards have the fewest seats.

        Returns:
            None if consumers never use a card in different ways.
        """
        usable = self.usable(options)
        if self.allow(
            face
            for slot, names in self.classes.items()
            for position in options[slot]
            for face in self.faces(position, names)
        ):
            return None
        bounds: list[tuple[int, dict[CardKey, Counter[str]]]] = []
        for slot, names in self.classes.items():
            ways: dict[CardKey, Counter[str]] = defaultdict(Counter)
            others = 0
            for position, number in count_seats(slot, usable[slot]).items():
                faces = self.faces(position, names)
                if faces:
                    ways[faces[0].card][faces[0].name] += number
                else:
                    others += number
            bounds.append((others + sum(max(way.values()) for way in ways.values()), ways))
        most, ways = min(bounds, key=itemgetter(0))
        chosen = {card: max(way, key=way.__getitem__) for card, way in ways.items()}
        for slot, names in self.classes.items():
            usable[slot] = OptionList(
                position
                for position in usable[slot]
                if all(chosen.get(card, face) == face for card, face in self.faces(position, names))
            )
        return most, usable

    def available(self) -> Sequence[Member]:
        """Return the members of the pool without free units of classes that cards exclude."""
        members = self._pool.members
        changed = list(members)
        for position in self._lines if self._used else ():
            stocks = members[position].stocks
            excluded = {
                name: max(stock.used, stock.capacity)
                for name, stock in stocks.items()
                if not self.allow(self.faces(position, [name]))
            }
            if excluded:
                changed[position] = members[position].with_usage(excluded)
        return changed

    def signature(self) -> Hashable:
        """Return everything that constraints read."""
        used = {
            card: tuple([(face, tuple(sorted(names))) for face, names in sorted(faces.items())])
            for card, faces in self._used.items()
        }
        return tuple(self._lines.items()), tuple(sorted(used.items()))


def _faces(line: _Line, names: Iterable[str]) -> Iterator[Face]:
    for name in names:
        yield from [CardFace(card, BELOW) for card in line.above]
        if line.itself is not None:
            yield CardFace(line.itself, name)


class Exclusive(Constraint):
    """The slots use at most one face of each card, and none if another face is in use.

    Args:
        cards: the cards of the pool.
        slots: the slots with resources and providers.
    """

    code = Refusal.EXCLUSIVE
    applies = attrgetter("request.special_traits.cards")
    reads_stocks = True
    # Whether the usages of the cards count.
    in_use: ClassVar[bool] = True

    def __init__(self, cards: Cards, slots: Iterable[int]) -> None:
        self.slots = frozenset(slots)
        self._cards = cards
        # Card -> the faces that placed slots use, in order.
        self._placed: dict[CardKey, list[str]] = defaultdict(list)
        # The faces of each placement, in order.
        self._order: list[Collection[Face]] = []
        self._feasible = True

    @classmethod
    def signature(cls, plan: SearchPlan, pool: Pool) -> Hashable:
        """Return the cards and their use, or None without cards."""
        cards = Cards(plan, pool)
        return cards.signature() if cards else None

    @classmethod
    def build(
        cls, plan: SearchPlan, pool: Pool, options: Sequence[OptionList], spend: Charge
    ) -> Sequence[Self]:
        """Make one constraint if the pool has a card."""
        spend(COST_PER_PROVIDER * len(pool.members))
        cards = Cards(plan, pool, in_use=cls.in_use)
        # Slots that may be split have no options here. Their providers are chosen at the end.
        return (cls(cards, filter(options.__getitem__, cards.classes)),) if cards else ()

    def narrow(self, options: Sequence[OptionList]) -> Sequence[OptionList]:
        """Exclude providers that already serve otherwise."""
        narrowed = self._cards.usable(options)
        self._feasible = all(narrowed[slot] for slot in self.slots)
        return narrowed

    def feasible(self) -> bool:
        """Return whether each slot has a provider."""
        return self._feasible

    def add(self, slot: int, provider: int) -> Undo | None:
        """Use the faces, unless another face of a card is used."""
        faces = self._cards.faces(provider, self._cards.classes[slot])
        for card, name in faces:
            if self._placed[card] and self._placed[card][-1] != name:
                return None
        for card, name in faces:
            self._placed[card].append(name)
        self._order.append(faces)
        return self._undo

    def _undo(self) -> None:
        for card, _name in self._order.pop():
            self._placed[card].pop()


class ExclusiveIfUnused(Exclusive):
    """The same as if no card served yet, for explanations."""

    in_use = False
