"""What an explanation says in words: details for those who read members, and one text for all.

The words for each code are in the table of reasons (`Refusal.reason`); here they are filled in.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from placement.candidates.explanation.profiles import Extreme, FallCause
from placement.candidates.explanation.terms import StatedTerm
from placement.candidates.plan import SearchPlan
from placement.candidates.request import SubtreeRule
from placement.candidates.terms import (
    GROUP_TERMS,
    PlaceTerm,
    RequiredTraits,
    Term,
    Untainted,
    of_kind,
)
from placement.candidates.trace import SUMS_BY, Reason, Refusal

# Keyword -> the class of terms that it states.
_KINDS: tuple[type[Term], ...] = (*GROUP_TERMS, Untainted)
KINDS = {kind.keyword: kind for kind in _KINDS}

MOST_NAMES = 5  # in a list of them
MOST_TERMS = 3  # of one step


class Loss(NamedTuple):
    """Hosts that one cause left out, at one code."""

    cause: FallCause
    hosts: int
    # Class -> what their inventories have.
    extremes: Mapping[str, Extreme]
    # UUIDs of the sharing providers that alone have room.
    sharing: Sequence[str] = ()


def asked(terms: Iterable[StatedTerm]) -> str:
    """Return what terms of one code ask."""
    return _listed([value_of(term) for term in terms], "; ")


def _listed(names: Collection[str], between: str = ", ", most: int = MOST_NAMES) -> str:
    first = list(names)[:most]
    more = len(names) - len(first)
    return between.join(first) + (f"{between}{more} more" if more else "")


def _any_of(names: Iterable[str]) -> str:
    several = sorted(names)
    return several[0] if len(several) == 1 else f"one of {_listed(several)}"


def value_of(term: StatedTerm) -> str:
    """Return what a term asks."""
    value = term.value
    if isinstance(value, SubtreeRule):
        outside = f", outside it {_listed(sorted(value.outside))}" if value.outside else ""
        return f"{_listed(sorted(value.inside))} in one subtree{outside}"
    if isinstance(value, tuple):
        return f"{value[1]} {value[0]}"
    return _any_of(value) if isinstance(value, frozenset) else str(value)


def noun_of(term: StatedTerm) -> str:
    """Return what a term asks, and what that is."""
    kind = KINDS.get(keyword_of(term))
    noun = "" if kind is None or issubclass(kind, PlaceTerm) else kind.name_kind
    value = term.value
    if isinstance(value, frozenset) and len(value) > 1:
        return f"one of the {noun}s {_listed(sorted(value))}"
    return f"{noun} {value_of(term)}"


def keyword_of(term: StatedTerm) -> str:
    """Return the member of the JSON form that states a term, of a group or of the root."""
    return term.keyword.removeprefix("root.")


class Words:
    """The words for the codes of one request."""

    def __init__(self, plan: SearchPlan, *, several: bool) -> None:
        """several: there are several groups, so each is called by its name."""
        self._plan = plan
        self._several = several

    def joined(self, code: Refusal) -> str:
        """Return what a code asks of groups together."""
        return self._filled(code.reason.refused, Loss(FallCause(), 0, {}))

    def detail(self, code: Refusal, losses: Sequence[Loss], hosts: int) -> str:
        """Return what was asked and what there is, of so many hosts that fell out at one step."""
        said = [self._refused(code, loss, hosts) for loss in losses[:MOST_TERMS]]
        more = len(losses) - len(said)
        return "; ".join(said) + (f"; {more} more" if more else "")

    def _refused(self, code: Refusal, loss: Loss, hosts: int) -> str:
        said = self._filled(_reason(code, loss.cause).refused, loss)
        if loss.cause.shared:
            said = f"{_only_shared(loss)}: {said}"
        return said if loss.hosts == hosts else f"{said} ({count_of(loss.hosts)})"

    def clauses(self, code: Refusal, losses: Sequence[Loss]) -> Sequence[str]:
        """Return the same for the text, a clause for each of the first causes."""
        return [f"{loss.hosts:,} {self.clause(code, loss)}" for loss in losses[:MOST_TERMS]]

    def clause(self, code: Refusal, loss: Loss) -> str:
        """Return why so many hosts fall out, as said of them."""
        reason, terms = _reason(code, loss.cause), loss.cause.terms
        have = "has" if loss.hosts == 1 else "have"
        group = for_group(terms[0], self._several) if terms else ""
        if loss.cause.shared:
            where = self._filled(reason.refused, loss)
            return f"{have} {_only_shared(loss)}{group} ({where})"
        return self._filled(reason.lacking, loss, have=have, group=group)

    def _filled(self, form: str, loss: Loss, **more: str) -> str:
        """Return a form of the table, filled in for a cause."""
        terms = loss.cause.terms[:MOST_NAMES]
        classes = [term.resource_class for term in terms] or loss.cause.classes
        known = [loss.extremes[name] for name in classes if name in loss.extremes]
        more["there"] = _and([str(extreme.there) for extreme in known])
        following = known[0].next if len(known) == 1 else None
        more["advice"] = f"; {following} would fit" if following else ""
        if terms:
            more["name"] = _and(classes) + " on one provider" * (len(classes) > 1)
            return form.format(**_words_of(terms), **more)
        for name, of in _JOINED.items():
            if name in form:
                more[name] = of(self._plan, loss.cause)
        return form.format(**more)


def _words_of(terms: Sequence[StatedTerm]) -> Mapping[str, str]:
    """Return what stands in a form for the terms of a cause."""
    forbidden = _is_forbidden(terms[0])
    # Each provider fails one of them at least: has not all, or has one that is forbidden.
    both = " or " if forbidden else " and "
    return {
        "value": both.join([_unknown(term) or value_of(term) for term in terms]),
        "noun": both.join([_unknown(term) or noun_of(term) for term in terms]),
        "missing": "is missing" if len(terms) == 1 else "are not on one provider",
        "within": "in" if forbidden else "not in",
    }


def _unknown(term: StatedTerm) -> str:
    """Return a term whose names do not exist; empty where they do."""
    if not term.unknown:
        return ""
    kind = KINDS[keyword_of(term)]
    noun = "provider" if issubclass(kind, PlaceTerm) else kind.name_kind
    return f"unknown {noun} {value_of(term)}"


def _reason(code: Refusal, cause: FallCause) -> Reason:
    return code.reason if cause.by is None else SUMS_BY[cause.by]


def _only_shared(loss: Loss) -> str:
    plural = "s" * (len(loss.sharing) > 1)
    names = _listed(loss.sharing, most=MOST_TERMS)
    return f"{_and(loss.cause.classes)} only from the sharing provider{plural} {names}"


def _is_forbidden(term: StatedTerm) -> bool:
    kind = KINDS.get(keyword_of(term))
    return kind is not None and kind.excludes


def _and(names: Sequence[str]) -> str:
    return " and ".join(names)


def count_of(hosts: int) -> str:
    """Return so many hosts in words."""
    return f"{hosts:,} host{'s' * (hosts != 1)}"


def because(code: Refusal, terms: Sequence[StatedTerm], several: bool) -> str:
    """Return what a code means, and what terms it may be about, as said of some hosts."""
    group = for_group(terms[0], several) if terms else ""
    what = f" ({asked(terms)})" if terms else ""
    return f"because {code.meaning}{group}{what}"


def for_group(term: StatedTerm, several: bool) -> str:
    """Return the group of a term, where there are several."""
    if not several or term.suffix is None:
        return ""
    return f" for group {term.suffix}" if term.suffix else " for the unsuffixed group"


def _sums(plan: SearchPlan, cause: FallCause) -> str:
    split = [name for group in plan.request.groups for name in sorted(group.can_split)]
    names = cause.classes or dict.fromkeys([*plan.contended_classes, *split])
    sums = [f"{plan.combined_amounts[name]} {name}" for name in names]
    return _listed(sums)


def _isolated(plan: SearchPlan, _cause: FallCause) -> str:
    return _listed(sorted(plan.slots[slot].group.suffix for slot in plan.isolated_slots))


def _subtrees(plan: SearchPlan, _cause: FallCause) -> str:
    rules = [
        value_of(StatedTerm(Refusal.SAME_SUBTREE, "same_subtree", None, rule))
        for rule in plan.request.same_subtree
    ]
    return _listed(rules, "; ", MOST_TERMS)


def _traits(plan: SearchPlan, _cause: FallCause) -> str:
    # Also where the plan says that one provider serves it all: others may serve parts.
    group = next(group for group in plan.request.groups if not group.suffixed)
    required = [_any_of(term.any_of) for term in of_kind(group.terms, RequiredTraits)]
    alone = plan.alone and not group.can_split
    return f"{_listed(required)} {'on one provider' if alone else 'between its providers'}"


# A field of the forms for what joins groups -> its words.
_JOINED: Mapping[str, Callable[[SearchPlan, FallCause], str]] = {
    "traits": _traits,
    "sums": _sums,
    "isolated": _isolated,
    "subtrees": _subtrees,
}
