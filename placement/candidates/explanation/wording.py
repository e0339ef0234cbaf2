"""What an explanation says in words: details for those who read members, and one text for all."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from operator import attrgetter

from placement.candidates.explanation.terms import StatedTerm
from placement.candidates.explanation.value import Blocked, Hosts, Relaxed
from placement.candidates.plan import SearchPlan
from placement.candidates.request import SubtreeRule
from placement.candidates.terms import GROUP_TERMS, PlaceTerm, RequiredTraits, of_kind
from placement.candidates.trace import Refusal

# Keyword -> the class of terms that it states.
_KINDS = {kind.keyword: kind for kind in GROUP_TERMS}

MOST_NAMES = 5  # in a list of them
MOST_TERMS = 3  # of one step
MOST_REASONS = 3  # in the text

# A term, and the most, or least, that there is of it.
TermExtreme = tuple[StatedTerm, int | None]


def asked(terms: Iterable[StatedTerm]) -> str:
    """Return what terms of one code ask."""
    return _listed([_value(term) for term in terms], "; ")


def _listed(names: Collection[str], between: str = ", ", most: int = MOST_NAMES) -> str:
    first = list(names)[:most]
    more = len(names) - len(first)
    return between.join(first) + (f"{between}{more} more" if more else "")


def _any_of(names: Iterable[str]) -> str:
    several = sorted(names)
    return several[0] if len(several) == 1 else f"one of {_listed(several)}"


def _value(term: StatedTerm) -> str:
    value = term.value
    if isinstance(value, SubtreeRule):
        outside = f", outside it {_listed(sorted(value.outside))}" if value.outside else ""
        return f"{_listed(sorted(value.inside))} in one subtree{outside}"
    if isinstance(value, tuple):
        return f"{value[1]} {value[0]}"
    return _any_of(value) if isinstance(value, frozenset) else str(value)


def _noun(term: StatedTerm) -> str:
    kind = _KINDS.get(_keyword(term))
    noun = "" if kind is None or issubclass(kind, PlaceTerm) else kind.name_kind
    value = term.value
    if isinstance(value, frozenset) and len(value) > 1:
        return f"one of the {noun}s {_listed(sorted(value))}"
    return f"{noun} {_value(term)}"


def _keyword(term: StatedTerm) -> str:
    return term.keyword.removeprefix("root.")


# What is said of terms that fail, of one provider; {value}: what is asked, {there}: what there is.
_REFUSED: Mapping[Refusal, str] = {
    Refusal.ROOT_TRAIT_MISSING: "the root lacks {value}",
    Refusal.ROOT_TRAIT_FORBIDDEN: "the root has {value}",
    Refusal.NO_INVENTORY: "no inventory of {name}",
    Refusal.MIN_UNIT: "{value} asked, the least min_unit is {there}",
    Refusal.MAX_UNIT: "{value} asked, the largest max_unit is {there}",
    Refusal.STEP_SIZE: "{value} asked, the least step_size is {there}",
    Refusal.CAPACITY: "{value} asked, the most free is {there}",
    Refusal.TRAIT_MISSING: "{value} is missing",
    Refusal.TRAIT_FORBIDDEN: "{value} is forbidden",
    Refusal.NOT_IN_AGGREGATE: "not in {value}",
    Refusal.IN_FORBIDDEN_AGGREGATE: "in {value}",
    Refusal.IN_TREE: "not in the tree of {value}",
    Refusal.SUBTREE: "neither {value} nor below it",
}

# The same for hosts in the text; {noun}: what is asked, and what it is.
_LACKING: Mapping[Refusal, str] = {
    Refusal.ROOT_TRAIT_MISSING: "{have} a root without {noun}",
    Refusal.ROOT_TRAIT_FORBIDDEN: "{have} a root with {noun}",
    Refusal.NO_INVENTORY: "{have} no inventory of {name}{group}",
    Refusal.MIN_UNIT: "{have} no provider that gives as little as {value}{group} "
    "(the least is {there})",
    Refusal.MAX_UNIT: "{have} no provider that gives {value} at once{group} (the most is {there})",
    Refusal.STEP_SIZE: "{have} no provider that gives {value} in its steps{group} "
    "(the least step_size is {there})",
    Refusal.CAPACITY: "{have} no provider with {value} free{group} (the most is {there})",
    Refusal.TRAIT_MISSING: "{have} no provider with room and {noun}{group}",
    Refusal.TRAIT_FORBIDDEN: "{have} room only where {noun} is forbidden{group}",
    Refusal.NOT_IN_AGGREGATE: "{have} no provider with room in {noun}{group}",
    Refusal.IN_FORBIDDEN_AGGREGATE: "{have} room only in {noun}, which is forbidden{group}",
    Refusal.IN_TREE: "{have} no provider with room in the tree of {value}{group}",
    Refusal.SUBTREE: "{have} no provider with room that is {value} or below it{group}",
}


def _code_of(forms: Mapping[Refusal, str], term: StatedTerm) -> str:
    if term.code is not Refusal.ROOT_AGGREGATE:
        return forms[term.code]
    forbidden = _KINDS[_keyword(term)].excludes
    if forms is _REFUSED:
        return "the root is in {value}" if forbidden else "the root is not in {value}"
    return "{have} a root in {noun}" if forbidden else "{have} a root not in {noun}"


def _filled(form: str, term: StatedTerm, there: int | None, **more: str) -> str:
    return form.format(
        value=_value(term), noun=_noun(term), name=term.resource_class, there=there, **more
    )


def refused(terms: Sequence[TermExtreme]) -> str:
    """Return what was asked and what was there, of terms of one step."""
    said = [_filled(_code_of(_REFUSED, term), term, there) for term, there in terms]
    return _listed(said, "; ", MOST_TERMS)


def lacking(terms: Sequence[TermExtreme], hosts: int, several: bool) -> str:
    """Return the same as said of so many hosts.  several: there are several groups."""
    (term, there), *others = terms
    form = _code_of(_LACKING, term)
    said = _filled(form, term, there, have=_have(hosts), group=_for_group(term, several))
    if others:
        said += f", or the like for {_listed([_value(other) for other, _there in others])}"
    return said


def because(code: Refusal, terms: Sequence[StatedTerm], several: bool) -> str:
    """Return what a code means, and what terms it may be about, as said of some hosts."""
    group = _for_group(terms[0], several) if terms else ""
    what = f" ({asked(terms)})" if terms else ""
    return f"because {code.meaning}{group}{what}"


def _have(hosts: int) -> str:
    return "has" if hosts == 1 else "have"


def _for_group(term: StatedTerm, several: bool) -> str:
    if not several or term.suffix is None:
        return ""
    return f" for group {term.suffix}" if term.suffix else " for the unsuffixed group"


def joined(plan: SearchPlan, code: Refusal) -> str:
    """Return what a code asks of groups together."""
    return _JOINED[code](plan)


def _sums(plan: SearchPlan) -> str:
    split = [name for group in plan.request.groups for name in sorted(group.can_split)]
    names = dict.fromkeys([*plan.contended_classes, *split])
    sums = [f"{plan.combined_amounts[name]} {name}" for name in names]
    return _listed(sums)


def _isolated(plan: SearchPlan) -> str:
    suffixes = sorted(plan.slots[slot].group.suffix for slot in plan.isolated_slots)
    return f"{_listed(suffixes)}: providers that serve no other of the suffixed groups"


def _subtrees(plan: SearchPlan) -> str:
    rules = [
        _value(StatedTerm(Refusal.SAME_SUBTREE, "same_subtree", None, rule))
        for rule in plan.request.same_subtree
    ]
    return _listed(rules, "; ", MOST_TERMS)


def _traits(plan: SearchPlan) -> str:
    # Also where the plan says that one provider serves it all: others may serve parts.
    terms = next(group.terms for group in plan.request.groups if not group.suffixed)
    required = [_any_of(term.any_of) for term in of_kind(terms, RequiredTraits)]
    return f"{_listed(required)} between its providers"


_JOINED: Mapping[Refusal, Callable[[SearchPlan], str]] = {
    Refusal.COLLECTIVE_TRAITS: _traits,
    Refusal.CAPACITY_SUM: lambda plan: f"{_sums(plan)} for all groups together",
    Refusal.ONE_PER_TREE: lambda _plan: "one provider of each tree",
    Refusal.ISOLATE: _isolated,
    Refusal.SAME_SUBTREE: _subtrees,
    Refusal.BUDGET: lambda _plan: "not decided within the bound on work",
}

# What is said of hosts in the text, where groups cannot be served together.
_UNJOINED: Mapping[Refusal, str] = {
    Refusal.COLLECTIVE_TRAITS: "{have} no combination of providers with all required traits",
    Refusal.CAPACITY_SUM: "{have} room for each group, but not for all together ({sums})",
    Refusal.ONE_PER_TREE: "would need several providers of one tree",
    Refusal.ISOLATE: "{have} too few providers for the isolated groups",
    Refusal.SAME_SUBTREE: "{have} no subtree as same_subtree asks",
    Refusal.BUDGET: "took too long to decide",
}


def unjoined(plan: SearchPlan, code: Refusal, hosts: int) -> str:
    """Return why so many hosts cannot serve the groups together."""
    return _UNJOINED[code].format(have=_have(hosts), sums=_sums(plan))


def text(
    hosts: Hosts, blocked: Sequence[Blocked], relaxations: Sequence[Relaxed], several: bool
) -> str:
    """Return the whole in two or three sentences.  several: there are several groups."""
    sentences = [_outcome(hosts)]
    reasons = [f"{step.hosts:,} {step.phrase}" for step in blocked[:MOST_REASONS]]
    others = sum(step.hosts for step in blocked[MOST_REASONS:])
    if others:
        reasons.append(f"{others:,} fall out for other reasons")
    if reasons:
        sentences.append(f"{'; '.join(reasons)}.")
    if relaxations:
        sentences.append(_without(max(relaxations, key=attrgetter("hosts")), several))
    return " ".join(sentences)


def _outcome(hosts: Hosts) -> str:
    looked = f"{hosts.looked:,} host{'s' * (hosts.looked != 1)}"
    if hosts.all is None or hosts.looked < hosts.all:
        of_all = "" if hosts.all is None else f" of {hosts.all:,}"
        looked = f"the {looked} looked at{of_all}"
    if hosts.all == 0:
        return "There is no host."
    if hosts.all is None and hosts.looked == 0:
        return "No host can serve the request."
    if hosts.looked == 0:
        return f"No host of {hosts.all:,} could be looked at within the bound on work."
    if hosts.looked == 1 and hosts.served == 0:
        only = "The only host" if hosts.all == 1 else "The only host looked at"
        return f"{only} cannot serve the request."
    if hosts.served == 0:
        return f"None of {looked} can serve the request."
    return f"{hosts.served:,} of {looked} can serve the request."


def _without(relaxed: Relaxed, several: bool) -> str:
    term, hosts = relaxed.term, f"{relaxed.hosts:,} host{'s' * (relaxed.hosts != 1)} would serve"
    if relaxed.to is not None:
        return f"With {relaxed.to} {term.resource_class}{_for_group(term, several)} {hosts}."
    where = " of the root" if term.keyword.startswith("root.") else _for_group(term, several)
    dropped = _filled(_dropped(term), term, None)
    return f"Without {dropped}{where} {hosts}."


def _dropped(term: StatedTerm) -> str:
    """Return what a request does not say without the term."""
    kind = _KINDS.get(_keyword(term))
    if kind is None:
        return _DROPPED_JOINS[term.keyword]
    if issubclass(kind, PlaceTerm):
        return f"{kind.keyword} {{value}}"
    return "forbidding {noun}" if kind.excludes else "asking for {noun}"


_DROPPED_JOINS: Mapping[str, str] = {
    "isolate": "isolating {value}",
    "group_policy": "group_policy=isolate",
    "same_subtree": "same_subtree of {value}",
}
