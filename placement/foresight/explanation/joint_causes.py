"""Why a host is rejected if it can serve each group, but not all of them together."""

from bisect import bisect_right
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace

from placement.candidates.budget import COST_PER_PROVIDER, BudgetSpentError
from placement.candidates.constraints.exclusive import (
    Cards,
    Exclusive,
    ExclusiveIfUnused,
    classes_of,
)
from placement.candidates.model import Options, Pool
from placement.candidates.plan import SearchPlan
from placement.candidates.terms.amounts import Amount
from placement.candidates.trace import Refusal
from placement.foresight.explanation.causes import ORDER, Rejection, RejectionCause, SpecialCase
from placement.foresight.explanation.solver import Solver
from placement.foresight.explanation.subtree_causes import SubtreeCauses
from placement.inventory import Stock

# Finding the causes of sums that do not fit may use 1/SUM_SHARE of all work.
SUM_SHARE = 8


class JointCauses:
    """Finds the code up to which no assignment of all slots exists, and its cause."""

    def __init__(self, solver: Solver, *, with_sums: bool) -> None:
        """with_sums: whether to find out which classes and limits make sums too large."""
        self._solver = solver
        # The plan of the request.
        self._plan = solver.plan
        # Whether to find the causes of sums. Parts have causes of their own.
        self._with_sums = (
            with_sums and bool(self._plan.contended_classes) and not self._plan.splittable
        )
        # Remaining work for these causes.
        self._left = solver.part_of_work(SUM_SHARE)

    def key(self, pool: Pool) -> Hashable:
        """Return everything that causes read from a pool besides options and signatures."""
        if not self._with_sums:
            return None
        plan = self._plan
        return tuple(
            tuple(
                [
                    stock and bisect_right(plan.sums[name], stock.capacity - stock.used)
                    for stock in pool.stocks(name)
                ]
            )
            for name in plan.contended_classes
        )

    def reject(self, pool: Pool, options: Options) -> Rejection:
        """Return the rejection of a host at the first code up to which no assignment exists.

        Args:
            pool: The providers of the host.
            options: The positions of the providers that can serve each slot.

        Raises:
            BudgetSpentError: The limit on work was reached before the code was known.
        """
        plan = self._plan
        if plan.splittable and self._serves_at(pool, options, [Refusal.CAPACITY_SUM]) is False:
            # The parts must reach the amounts before anything else is asked of their providers.
            return _reject_parts(plan, options)
        for code in plan.joining_codes:
            serves = self._serves_up_to(code, pool, options)
            if serves is None:
                return Rejection(Refusal.BUDGET, None)
            if not serves:
                return self._rejection(code, pool, options)
        raise AssertionError("the constraints of all codes together refuse")

    def _serves_at(self, pool: Pool, options: Options, codes: Iterable[Refusal]) -> bool | None:
        """Return whether an assignment satisfies the constraints of some codes."""
        kinds = [kind for kind in self._plan.kinds if kind.code in codes]
        return self._solver.serves(self._plan, pool, options, kinds)

    def _serves_up_to(self, last: Refusal, pool: Pool, options: Options) -> bool | None:
        """Return whether an assignment satisfies the constraints of all codes up to one."""
        return self._serves_at(
            pool, options, [code for code in Refusal if ORDER[code] <= ORDER[last]]
        )

    def _rejection(self, code: Refusal, pool: Pool, all_options: Options) -> Rejection:
        """Return the rejection at a code, with its cause if there is a special case."""
        plan = self._plan
        cards = Cards(plan.request.exclusive, pool)
        # Only providers whose cards can still serve count.
        options = list(all_options)
        if cards:
            for slot, providers in cards.narrowed(all_options, classes_of(plan)).items():
                options[slot] = providers
        if code is Refusal.EXCLUSIVE or not all(options):
            is_joint = code is Refusal.EXCLUSIVE and self._needs_two_ways(pool, all_options)
            case = SpecialCase.WAYS if is_joint else SpecialCase.CARDS if all(options) else None
            return Rejection(code, None, _cards_cause(plan, cards, all_options, case))
        if code is Refusal.CAPACITY_SUM and plan.splittable:
            return _reject_parts(plan, options)
        if code is Refusal.CAPACITY_SUM and self._with_sums:
            return self._reject_sums(pool, options)
        if code is Refusal.ISOLATE:
            return Rejection(code, None, _isolation_cause(plan, options))
        if code is Refusal.SAME_SUBTREE:
            with suppress(BudgetSpentError):  # the rejection is known; only its cause is missing
                return SubtreeCauses(self._solver, pool, options).reject()
        return Rejection(code, None)

    def _needs_two_ways(self, pool: Pool, options: Options) -> bool:
        """Return whether cards would have to serve in two ways, even if none served yet."""
        kinds = [ExclusiveIfUnused if kind is Exclusive else kind for kind in self._plan.kinds]
        with suppress(BudgetSpentError):  # the rejection is known; only its cause is less precise
            return self._solver.serves(self._plan, pool, options, kinds) is False
        return False

    # -- sums ----------------------------------------------------------------------------------

    def _reject_sums(self, pool: Pool, options: Options) -> Rejection:
        """Return the rejection with its cause, or with all sums if no work is left."""
        plan = self._plan
        cause = RejectionCause(amounts=self._sums(plan.contended_classes))
        end = self._solver.budget.cost + self._left
        if self._left > 0:
            with suppress(BudgetSpentError):  # only the cause is less precise
                cause = self._cause_of_sums(pool, options)
        self._left = end - self._solver.budget.cost
        slots = {slot for name, _units in cause.amounts for slot in plan.amounts_of(name)}
        servers = sorted({each for slot in slots for each in options[slot]})
        return Rejection(Refusal.CAPACITY_SUM, None, cause, at_code=servers)

    def _cause_of_sums(self, pool: Pool, options: Options) -> RejectionCause:
        """Evaluate the host as if it had enough of a class, or a larger max_unit."""
        if self._is_isolation(pool, options):
            return _isolation_cause(self._plan, options, SpecialCase.ISOLATION)
        classes = self._short_classes(pool, options)
        bounded = [name for name in classes if _bounds_room(pool, name)]
        if bounded:
            lifted = self._lifted(pool, bounded, units_only=True)
            if self._serves_up_to(Refusal.CAPACITY_SUM, lifted, options):
                return RejectionCause(amounts=self._sums(classes), case=SpecialCase.MAX_UNIT)
        return RejectionCause(amounts=self._sums(classes))

    def _sums(self, names: Iterable[str]) -> tuple[Amount, ...]:
        return tuple(Amount(name, self._plan.combined_amounts[name]) for name in names)

    def _is_isolation(self, pool: Pool, options: Options) -> bool:
        """Return whether isolation would reject the host if it had enough of all classes."""
        codes = {kind.code for kind in self._plan.kinds}
        if Refusal.ISOLATE not in codes:
            return False
        enough = self._lifted(pool, self._plan.contended_classes)
        if self._serves_at(enough, options, codes) is not False:
            return False
        return bool(self._serves_at(enough, options, codes - {Refusal.ISOLATE}))

    def _short_classes(self, pool: Pool, options: Options) -> tuple[str, ...]:
        """Return the only class with too little capacity, or all classes if there are several."""
        classes = self._plan.contended_classes
        if len(classes) > 1:
            for name in classes:
                lifted = self._lifted(pool, [name])
                if self._serves_up_to(Refusal.CAPACITY_SUM, lifted, options):
                    return (name,)
        return classes

    def _lifted(self, pool: Pool, names: Iterable[str], *, units_only: bool = False) -> Pool:
        """Return a pool that has enough of some classes. `units_only` only raises max_unit."""
        members = list(pool.members)
        self._solver.budget.spend(COST_PER_PROVIDER * len(members))
        for name in names:
            enough = self._plan.combined_amounts[name]
            for position, member in enumerate(members):
                stock = member.stocks.get(name)
                if stock is not None:
                    lifted = _lifted(stock, enough, units_only=units_only)
                    members[position] = members[position].with_stocks({name: lifted})
        return replace(pool, members=tuple(members))


def _bounds_room(pool: Pool, name: str) -> bool:
    """Return whether max_unit of some provider is less than its free capacity of a class."""
    stocks = [stock for stock in pool.stocks(name) if stock]
    return any(stock.room < stock.capacity - stock.used for stock in stocks)


def _lifted(stock: Stock, enough: int, *, units_only: bool) -> Stock:
    most = max(stock.max_unit, enough)
    if units_only:
        return stock._replace(max_unit=most)
    return stock._replace(max_unit=most, capacity=max(stock.capacity, stock.used + enough))


def _reject_parts(plan: SearchPlan, options: Options) -> Rejection:
    """Return the rejection by amounts that do not fit, even in parts."""
    names = {*plan.contended_classes, *map(plan.class_of, plan.splittable)}
    sums = [Amount(*total) for total in plan.combined_amounts.items() if total[0] in names]
    slots = set().union(*(plan.amounts_of(name) for name in names))
    servers = sorted(set().union(*(options[slot] for slot in slots)))
    cause = RejectionCause(amounts=tuple(sums), case=SpecialCase.PARTS)
    return Rejection(Refusal.CAPACITY_SUM, None, cause, at_code=servers)


def _isolation_cause(
    plan: SearchPlan, options: Options, case: SpecialCase | None = None
) -> RejectionCause:
    """Find isolated groups that together have fewer providers than there are groups.

    Only groups with equal options, and all isolated groups together, are compared. The cause
    contains no groups if none of these sets lacks providers.
    """
    lists = {slot: options[slot] for slot in plan.isolated_slots}
    # PERF: equal lists are the same object, and the lists are long.
    by_list = Counter(map(id, lists.values()))
    distinct = {id(each): each for each in lists.values()}
    for number, providers in distinct.items():
        if by_list[number] > len(providers):
            slots = [slot for slot, each in lists.items() if each is providers]
            return _isolated(plan, slots, len(providers), case)
    union = set().union(*distinct.values())
    if len(lists) > len(union):
        return _isolated(plan, list(lists), len(union), case)
    return RejectionCause(case=case)


def _isolated(
    plan: SearchPlan, slots: Sequence[int], providers: int, case: SpecialCase | None
) -> RejectionCause:
    suffixes = tuple(plan.slots[slot].group.suffix for slot in slots)
    return RejectionCause(case=case, groups=suffixes, providers=providers)


def _cards_cause(
    plan: SearchPlan, cards: Cards, options: Options, case: SpecialCase | None
) -> RejectionCause:
    """Return the classes that cards would have to serve, or that they already serve."""
    classes: set[str] = set()
    for slot, names in classes_of(plan).items():
        for position in options[slot]:
            faces = cards.faces(position, names)
            if case is not SpecialCase.WAYS:
                classes |= cards.blocking(faces)
            elif faces:
                classes.update(names)
    return RejectionCause(classes=tuple(sorted(classes)), case=case)
