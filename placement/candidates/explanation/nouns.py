"""The terms and groups of a request in words."""

from collections.abc import Collection, Iterable, Sequence

from placement.candidates.request import SubtreeRule
from placement.candidates.stated_terms import StatedTerm
from placement.candidates.terms import GROUP_TERMS, PlaceTerm, Term, Untainted
from placement.candidates.trace import Refusal

# The classes of all terms that a keyword states.
_KINDS: tuple[type[Term], ...] = (*GROUP_TERMS, Untainted)
KINDS = {kind.keyword: kind for kind in _KINDS}

# Maximum length of a list of names.
MAX_NAMES = 5
# Maximum length of a list of rules, causes or sharing providers.
MAX_TERMS = 3


def asked(terms: Iterable[StatedTerm]) -> str:
    """Return the values of terms of one code."""
    return listed([value_of(term) for term in terms], "; ")


def listed(names: Collection[str], between: str = ", ", most: int = MAX_NAMES) -> str:
    """Return the first names of a list, and the number of the remaining names."""
    first = list(names)[:most]
    more = len(names) - len(first)
    return between.join(first) + (f"{between}{more} more" if more else "")


def joined(names: Sequence[str], last: str, most: int = MAX_NAMES) -> str:
    """Join the first names with commas. A word precedes the last name."""
    if len(names) > most:
        names = [*names[:most], f"{len(names) - most} more"]
    return last.join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else "".join(names)


def _any_of(names: Iterable[str]) -> str:
    several = sorted(names)
    return several[0] if len(several) == 1 else f"one of {listed(several)}"


def value_of(term: StatedTerm) -> str:
    """Return the value of a term in words."""
    value = term.value
    if isinstance(value, SubtreeRule):
        return ",".join(
            [*sorted(value.inside), *(f"!{suffix}" for suffix in sorted(value.outside))]
        )
    if isinstance(value, tuple):
        return f"{value[1]} {value[0]}"
    return _any_of(value) if isinstance(value, frozenset) else str(value)


def noun_of(term: StatedTerm) -> str:
    """Return the value of a term with its noun, such as "trait X"."""
    kind = KINDS.get(keyword_of(term))
    noun = "" if kind is None or issubclass(kind, PlaceTerm) else kind.name_kind
    value = term.value
    if isinstance(value, frozenset) and len(value) > 1:
        return f"any of the {noun}s {listed(sorted(value))}"
    return f"{noun} {value_of(term)}".strip()


def property_of(term: StatedTerm) -> str:
    """Return the property of a host that a term requires."""
    if term.resource_class:
        return f"inventory of {term.resource_class}"
    if term.code is Refusal.NOT_IN_AGGREGATE:
        return f"a provider in {noun_of(term)}"
    if term.code is Refusal.ROOT_AGGREGATE:
        return f"a root in {noun_of(term)}"
    return f"a root with {noun_of(term)}" if term.suffix is None else noun_of(term)


def keyword_of(term: StatedTerm) -> str:
    """Return the keyword of a term, which is the same for a group and for the root."""
    return term.keyword.removeprefix("root.")


def count_of(hosts: int) -> str:
    """Return "1 host" or "N hosts"."""
    return f"{hosts:,} host{'s' * (hosts != 1)}"


def for_group(term: StatedTerm, several: bool) -> str:
    """Return the group of a term, if the request has several groups."""
    if not several or term.suffix is None:
        return ""
    return f" for {group_of(term)}"


def group_of(term: StatedTerm) -> str:
    """Return the group of a term in words."""
    if term.suffix and " " in term.suffix:
        return f"the {term.suffix}"  # a group that follows from allocations
    return f"group {term.suffix}" if term.suffix else "the unsuffixed group"


def is_forbidden(term: StatedTerm) -> bool:
    """Return whether a term excludes providers with a property."""
    kind = KINDS.get(keyword_of(term))
    return kind is not None and kind.excludes


def nonexistent(terms: Iterable[StatedTerm]) -> Sequence[str]:
    """Return a sentence for each provider or aggregate of the terms that does not exist."""
    sentences: dict[str, None] = {}
    for term in terms:
        if term.unknown:
            kind = KINDS[keyword_of(term)]
            noun = "provider" if issubclass(kind, PlaceTerm) else kind.name_kind
            value = term.value
            names = sorted(value) if isinstance(value, frozenset) else [str(value)]
            sentences[f"There is no {noun} {joined(names, ' or ')}."] = None
    return list(sentences)
