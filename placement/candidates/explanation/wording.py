"""The details of an explanation's members, and the clauses of its text.

The forms of each code are in the tables of reasons (`Refusal.reason`) and of special cases. This
module fills in the forms.
"""

from collections.abc import Collection, Iterable, Sequence

from placement.candidates.explanation.context import Context, Names
from placement.candidates.explanation.evaluation import RejectionCause
from placement.candidates.explanation.features import HostFeature
from placement.candidates.explanation.fields import fill, fill_asked, requires, scope
from placement.candidates.explanation.manners import forms_of
from placement.candidates.explanation.nouns import MAX_TERMS, count_of, joined, noun_of, property_of
from placement.candidates.explanation.rejected_hosts import MAX_TEXT_CAUSES, CauseHosts
from placement.candidates.explanation.value import Clause
from placement.candidates.plan import SearchPlan
from placement.candidates.stated_terms import StatedTerm
from placement.candidates.trace import Refusal


class Words:
    """Fills in the forms of codes for one request."""

    def __init__(self, plan: SearchPlan, names: Names) -> None:
        """names: UUID -> name of each provider that the explanation mentions."""
        # The values for the fields of the forms.
        self._context = Context(plan, names)

    def asked_together(self, code: Refusal) -> str:
        """Return the requirement of the request at a code that joins groups."""
        return fill_asked(code.reason.asked, self._context)

    def detail(self, code: Refusal, by_causes: Sequence[CauseHosts], hosts: int) -> str:
        """Return the detail of a step: the requirement and the property of the hosts.

        Args:
            code: The code of the step.
            by_causes: The rejected hosts by cause.
            hosts: Number of all hosts rejected at the step.
        """
        details = []
        for cause_hosts in by_causes[:MAX_TERMS]:
            phrases = [
                fill(forms_of(code, context.cause.manner)[0], context)
                for context in self._contexts(cause_hosts)
            ]
            count = "" if cause_hosts.hosts == hosts else f" ({count_of(cause_hosts.hosts)})"
            details.append(" and ".join(phrases) + count)
        more = len(by_causes) - len(details)
        return "; ".join(details) + (f"; {more} more" if more else "")

    def clauses(self, code: Refusal, by_causes: Sequence[CauseHosts]) -> Sequence[Clause]:
        """Return the clauses about the hosts with the most frequent causes."""
        return [
            Clause(cause_hosts.hosts, self.clause(code, cause_hosts), cause_hosts.tainted)
            for cause_hosts in by_causes[:MAX_TEXT_CAUSES]
        ]

    def clause(
        self, code: Refusal, cause_hosts: CauseHosts, own: Collection[StatedTerm] = ()
    ) -> str:
        """Return the predicate of hosts with equal causes.

        The terms `own` name the tree of the hosts.
        """
        return " and ".join(
            [
                fill(forms_of(code, context.cause.manner)[1], context)
                for context in self._contexts(cause_hosts, own)
            ]
        )

    def scopes(self, terms: Sequence[StatedTerm]) -> str:
        """Return the trees, subtrees and aggregates of terms."""
        places = [scope(self._context, term) for term in terms]
        return joined(places, " or ", MAX_TERMS) + requires(self._context, terms)

    def _contexts(
        self, cause_hosts: CauseHosts, own: Collection[StatedTerm] = ()
    ) -> Iterable[Context]:
        """Return one context per phrase. Causes that differ only in capacity share a phrase."""
        parts: dict[object, Context] = {}
        for cause in cause_hosts.causes:
            key = cause.manner, cause.terms if cause.amounts else ()
            part = parts.get(key)
            if part is None:
                part = self._context._replace(cause=cause, hosts=cause_hosts.hosts, own=own)
            parts[key] = part._replace(
                cause=_united(part.cause, cause),
                extremes={**part.extremes, **cause_hosts.extremes.get(cause, {})},
                sharing={**part.sharing, **cause_hosts.sharing.get(cause, {})},
                parent_traits=cause_hosts.parent_traits,
            )
        return parts.values()


def _united(cause: RejectionCause, other: RejectionCause) -> RejectionCause:
    """Return a cause with the terms and amounts of both."""
    terms = dict.fromkeys([*cause.terms, *other.terms])
    amounts = dict.fromkeys([*cause.amounts, *other.amounts])
    return cause._replace(terms=tuple(terms), amounts=tuple(amounts))


def conflict_sentence(one: HostFeature, other: HostFeature) -> str:
    """Return a sentence about two properties that no host has together."""
    codes = {one.term.code, other.term.code}
    if codes in ({Refusal.NOT_IN_AGGREGATE}, {Refusal.ROOT_AGGREGATE}):
        verb, name, either = "is in", noun_of, _either(one.term, other.term)
    else:
        verb, name, either = "has", property_of, ""
    first, second = (f"{name(each.term)} ({_having(each)})" for each in (one, other))
    return f"No host {verb} both {first} and {second}{either}."


def _having(feature: HostFeature) -> str:
    number = "all" if feature.tainted == feature.hosts > 1 else f"{feature.tainted:,}"
    tainted = f", {number} tainted" * (feature.tainted > 0)
    return f"{count_of(feature.hosts)}{tainted}"


def _either(one: StatedTerm, other: StatedTerm) -> str:
    """Return how to request hosts in either of two aggregates, if both terms are of one group."""
    if one.suffix != other.suffix:
        return ""
    names = [
        name for term in (one, other) if isinstance(term.value, frozenset) for name in term.value
    ]
    parameter = "root_member_of" if one.suffix is None else f"member_of{one.suffix}"
    return f"; {parameter}=in:{','.join(sorted(names))} asks for either"
