"""The words of an explanation: details of its members, and the clauses of its text.

The words of each code are in the tables of reasons (`Refusal.reason`) and of manners; here they are
filled in for hosts.
"""

from collections.abc import Collection, Iterable, Sequence

from placement.candidates.explanation.context import Context, Names
from placement.candidates.explanation.fields import fill, fill_asked
from placement.candidates.explanation.manners import forms_of
from placement.candidates.explanation.nouns import MAX_TERMS, count_of
from placement.candidates.explanation.profiles import FallCause
from placement.candidates.explanation.rejected import MAX_LOSSES, Loss
from placement.candidates.explanation.terms import StatedTerm
from placement.candidates.explanation.value import Clause
from placement.candidates.plan import SearchPlan
from placement.candidates.trace import Refusal


class Words:
    """The words for the codes of one request."""

    def __init__(self, plan: SearchPlan, names: Names) -> None:
        """names: of the providers that the explanation mentions."""
        self._context = Context(plan, names)

    def asked_together(self, code: Refusal) -> str:
        """Return what a code asks of groups together."""
        return fill_asked(code.reason.asked, self._context)

    def detail(self, code: Refusal, losses: Sequence[Loss], hosts: int) -> str:
        """Return what the request asks and the hosts have; hosts: all that fell out there."""
        said = []
        for loss in losses[:MAX_TERMS]:
            phrases = [
                fill(forms_of(code, context.cause.manner)[0], context)
                for context in self._contexts(loss)
            ]
            count = "" if loss.hosts == hosts else f" ({count_of(loss.hosts)})"
            said.append(" and ".join(phrases) + count)
        more = len(losses) - len(said)
        return "; ".join(said) + (f"; {more} more" if more else "")

    def clauses(self, code: Refusal, losses: Sequence[Loss]) -> Sequence[Clause]:
        """Return the predicates of the hosts of the first losses."""
        return [Clause(loss.hosts, self.clause(code, loss)) for loss in losses[:MAX_LOSSES]]

    def clause(self, code: Refusal, loss: Loss, own: Collection[StatedTerm] = ()) -> str:
        """Return why so many hosts fall out; own: terms that name a tree, which is theirs."""
        return " and ".join(
            [
                fill(forms_of(code, context.cause.manner)[1], context)
                for context in self._contexts(loss, own)
            ]
        )

    def _contexts(self, loss: Loss, own: Collection[StatedTerm] = ()) -> Iterable[Context]:
        """Return what to say in one phrase: plain causes, or those that differ in room only."""
        parts: dict[object, Context] = {}
        for cause in loss.causes:
            key = cause.manner, cause.terms if cause.amounts else ()
            part = parts.get(key)
            if part is None:
                part = self._context._replace(cause=cause, hosts=loss.hosts, own=own)
            parts[key] = part._replace(
                cause=_united(part.cause, cause),
                extremes={**part.extremes, **loss.extremes.get(cause, {})},
                sharing=sorted({*part.sharing, *loss.sharing.get(cause, ())}),
            )
        return parts.values()


def _united(cause: FallCause, other: FallCause) -> FallCause:
    """Return a cause with the terms and amounts of both."""
    terms = dict.fromkeys([*cause.terms, *other.terms])
    amounts = dict.fromkeys([*cause.amounts, *other.amounts])
    return cause._replace(terms=tuple(terms), amounts=tuple(amounts))
