"""The facts that the sentence of a code states, and parts of sentences that several codes share."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from placement.candidates.model import Refusal
from placement.candidates.request import StatedTerm, SubtreeRule
from placement.candidates.search import SearchPlan
from placement.candidates.terms import Amount
from placement.foresight.explanation.causes import Extreme, RejectionCause
from placement.foresight.explanation.words.phrases import (
    amount_of,
    each_of,
    either_of,
    for_group,
    group_of,
    have,
    joined,
    noun_of,
)

Names = Mapping[str, str]  # UUID of a provider -> its name

NO_EXTREME = Extreme(0)

# Free units that are at least the requested ones, if the units allow none of the free amounts.
TOO_LITTLE = "too little for min_unit or step_size"


class Phrase(NamedTuple):
    """The words about hosts that are rejected at one code."""

    # The requirement, and the property of the providers.
    detail: str
    # The same as a predicate of hosts, beginning with the verb.
    predicate: str
    # For codes that join groups: what the request requires of the groups together.
    requirement: str = ""


class Facts(NamedTuple):
    """Hosts that were rejected for one cause."""

    # The plan of the request.
    plan: SearchPlan
    # Names of the providers that the explanation mentions.
    names: Names
    # Why the hosts were rejected.
    cause: RejectionCause = RejectionCause()
    # Class -> the largest or smallest value in the inventories of the hosts.
    extremes: Mapping[str, Extreme] = {}
    # Number of hosts.
    hosts: int = 0
    # The amounts for which none of the hosts has room, as in `Rejection.others`.
    others: Sequence[StatedTerm] = ()
    # UUIDs and classes of the providers of trees that only share resources.
    shared: frozenset[str] = frozenset()

    def phrase(self, text: str, after: str = "", requirement: str = "") -> Phrase:
        """Return a text, as it is and as a predicate that names the group before `after`."""
        return Phrase(text + after, self.predicate(text, after), requirement)

    def predicate(self, text: str, after: str = "") -> str:
        """Return a text as a predicate that names the group before `after`."""
        return f"{have(self.hosts)} {text}{for_group(self.cause.terms, self.several)}{after}"

    def only_apart(self, names: Sequence[str], kind: str) -> Phrase:
        """Return that only different providers have some classes or traits, and the remedy."""
        detail = f"{each_of(names)} only on different providers"
        remedy = f" (one group for each {kind} would ask for different providers)"
        return Phrase(detail, self.predicate(detail, remedy))

    @property
    def several(self) -> bool:
        """Whether the request has several groups. In this case, texts have to name the groups."""
        return len(self.plan.request.groups) > 1

    def required_by(self, terms: Sequence[StatedTerm]) -> str:
        """Return which group states some terms, if this is not clear."""
        is_clear = not self.several or not terms or terms[0].suffix is None
        return "" if is_clear else f", which {group_of(terms[0])} requires"

    @property
    def rules(self) -> Sequence[SubtreeRule]:
        """The rules about subtrees of the cause."""
        return [term.value for term in self.cause.terms if isinstance(term.value, SubtreeRule)]

    # -- terms ---------------------------------------------------------------------------------

    @property
    def nouns(self) -> Sequence[str]:
        """The terms of the cause with their nouns."""
        return [noun_of(term) + _gone(term) for term in self.cause.terms]

    def label(self, uuid: str) -> str:
        """Return the name of a provider with its UUID, or only the UUID if the name is unknown."""
        return f"{self.names[uuid]} ({uuid})" if uuid in self.names else uuid

    def scope(self, term: StatedTerm) -> str:
        """Return the tree, subtree or aggregate of a term."""
        if term.code is Refusal.NOT_IN_AGGREGATE:
            return noun_of(term) + _gone(term)
        tree = "subtree" if term.code is Refusal.SUBTREE else "tree"
        sharing = "the sharing provider " * (term.value in self.shared)
        return f"the {tree} of {sharing}{self.label(str(term.value))}{_gone(term)}"

    # -- amounts -------------------------------------------------------------------------------

    @property
    def room(self) -> str:
        """What providers need to serve the amounts of the group."""
        return f"room for {each_of([amount_of(each) for each in self.cause.amounts])}"

    def extreme(self, resource_class: str) -> Extreme:
        """Return the largest or smallest value of a class."""
        return self.extremes.get(resource_class, NO_EXTREME)

    def most(self, resource_class: str) -> str:
        """Return the largest or smallest value of a class, and the sharing provider that has it."""
        pool = self.pool(resource_class)
        where = f" on the sharing provider {pool}" * bool(pool)
        return f"{self.extreme(resource_class).value}{where}"

    def pool(self, resource_class: str) -> str:
        """Return the name of the sharing provider with this value, or empty."""
        uuid = self.extreme(resource_class).pool
        return self.names.get(uuid, uuid)

    def is_short(self, amount: Amount) -> bool:
        """Return whether the hosts have less of a class than an amount."""
        return self.extreme(amount.resource_class).value < amount.units

    # -- providers -----------------------------------------------------------------------------

    @property
    def unfit(self) -> str:
        """Why providers that satisfy the terms cannot serve the group."""
        cause, faults = self.cause, [self._failing(term) for term in self.cause.others]
        if any(each.units for each in cause.amounts):
            room = [self._room_for(each) for each in cause.amounts]
            last = " and " if cause.terms[0].suffix else " or "
            faults.insert(0, f"without room for {joined(room, last)}")
        elif cause.amounts:
            names = either_of([each.resource_class for each in cause.amounts])
            faults.insert(0, f"without {names}")
        return either_of(faults)

    def _room_for(self, amount: Amount) -> str:
        """Return an amount that unsuitable providers lack, or a part of it if parts suffice."""
        splittable = map(self.plan.class_of, self.plan.splittable)
        in_parts = not self.cause.terms[0].suffix and amount.resource_class in splittable
        part = "any part of " * in_parts
        return part + amount_of(amount) if amount.units else amount.resource_class

    def _failing(self, term: StatedTerm) -> str:
        """Return the property of providers that fail a term, as a phrase that follows a noun."""
        if term.code is Refusal.TRAIT_MISSING:
            return f"without {noun_of(term)}"
        if term.code in (Refusal.TRAIT_FORBIDDEN, Refusal.IN_FORBIDDEN_AGGREGATE):
            preposition = "with" if term.code is Refusal.TRAIT_FORBIDDEN else "in"
            return f"{preposition} the forbidden {noun_of(term)}"
        if isinstance(term.value, Amount):
            return f"whose {term.code.value} does not allow {amount_of(term.value)}"
        return f"outside {self.scope(term)}"


def _gone(term: StatedTerm) -> str:
    return ", which does not exist" if term.unknown else ""
