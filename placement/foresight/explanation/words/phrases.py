"""Lists, numbers, terms and groups in words."""

from collections.abc import Collection, Iterable, Sequence

from placement.candidates.request import StatedTerm, SubtreeRule
from placement.candidates.terms import GROUP_TERMS, Amount, PlaceTerm, Term, Untainted
from placement.vocabulary import TOO_MUCH

# Maximum length of a list of names.
MAX_NAMES = 5
# Maximum length of a list of rules, causes or sharing providers.
MAX_TERMS = 3

# Keyword -> the class of its terms.
_KINDS: dict[str, type[Term]] = {kind.keyword: kind for kind in GROUP_TERMS}
_KINDS[Untainted.keyword] = Untainted


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


def each_of(names: Sequence[str]) -> str:
    """Join the first names with "and"."""
    return joined(names, " and ")


def either_of(names: Sequence[str]) -> str:
    """Join the first names with "or"."""
    return joined(names, " or ")


def have(number: int) -> str:
    """Return the verb for a number of subjects."""
    return "has" if number == 1 else "have"


def are(number: int) -> str:
    """Return the verb for a number of subjects."""
    return "is" if number == 1 else "are"


def count_of(hosts: int) -> str:
    """Return "1 host" or "N hosts"."""
    return f"{hosts:,} host{'s' * (hosts != 1)}"


def amount_of(amount: Amount) -> str:
    """Return an amount such as "8 VCPU"."""
    or_more = " or more" * (amount.units >= TOO_MUCH)
    return f"{amount.units}{or_more} {amount.resource_class}"


def rule_of(rule: SubtreeRule) -> str:
    """Return a rule about subtrees such as "_A,_B,!_C"."""
    outside = [f"!{suffix}" for suffix in sorted(rule.outside)]
    return ",".join([*sorted(rule.inside), *outside])


def kind_of(term: StatedTerm) -> type[Term] | None:
    """Return the class of a term, or None for amounts and rules between groups."""
    return _KINDS.get(term.keyword.removeprefix("root."))


def value_of(term: StatedTerm) -> str:
    """Return the value of a term in words."""
    value = term.value
    if isinstance(value, SubtreeRule):
        return rule_of(value)
    if isinstance(value, Amount):
        return amount_of(value)
    if isinstance(value, frozenset):
        names = sorted(value)
        return names[0] if len(names) == 1 else f"one of {listed(names)}"
    return str(value)


def values_of(terms: Iterable[StatedTerm]) -> str:
    """Return the values of terms of one code."""
    return listed([value_of(term) for term in terms], "; ")


def noun_of(term: StatedTerm) -> str:
    """Return the value of a term with its noun, such as "trait X"."""
    kind, value = kind_of(term), term.value
    noun = "" if kind is None or issubclass(kind, PlaceTerm) else kind.name_kind
    if isinstance(value, frozenset) and len(value) > 1:
        return f"any of the {noun}s {listed(sorted(value))}"
    return f"{noun} {value_of(term)}".strip()


def group_of(term: StatedTerm) -> str:
    """Return the group of a term in words."""
    return group_named(term.suffix or "")


def group_named(suffix: str) -> str:
    """Return the group with a suffix in words."""
    if " " in suffix:
        return f"the {suffix}"  # a group that follows from allocations
    return f"group {suffix}" if suffix else "the unsuffixed group"


def for_group(terms: Iterable[StatedTerm], several: bool) -> str:
    """Return the group of the first term, if the request has several groups."""
    term = next(iter(terms), None)
    if not several or term is None or term.suffix is None:
        return ""
    return f" for {group_of(term)}"
