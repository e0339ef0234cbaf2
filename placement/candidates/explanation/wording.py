"""The details of an explanation's members, and the clauses of its text.

The forms of each code are in the tables of reasons (`Refusal.reason`) and of special cases. This
module fills in the forms.
"""

from collections.abc import Collection, Iterable, Sequence

from placement.candidates.explanation.context import Context, Names
from placement.candidates.explanation.evaluation import RejectionCause
from placement.candidates.explanation.fields import fill, fill_asked
from placement.candidates.explanation.manners import forms_of
from placement.candidates.explanation.nouns import MAX_TERMS, count_of
from placement.candidates.explanation.rejected_hosts import MAX_TEXT_CAUSES, CauseHosts
from placement.candidates.explanation.terms import StatedTerm
from placement.candidates.explanation.value import Clause
from placement.candidates.plan import SearchPlan
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
            Clause(cause_hosts.hosts, self.clause(code, cause_hosts))
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
                sharing=sorted({*part.sharing, *cause_hosts.sharing.get(cause, ())}),
            )
        return parts.values()


def _united(cause: RejectionCause, other: RejectionCause) -> RejectionCause:
    """Return a cause with the terms and amounts of both."""
    terms = dict.fromkeys([*cause.terms, *other.terms])
    amounts = dict.fromkeys([*cause.amounts, *other.amounts])
    return cause._replace(terms=tuple(terms), amounts=tuple(amounts))
