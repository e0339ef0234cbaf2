"""Special cases of codes, and their texts.

`Refusal.reason` contains the text for the general case of a code.
"""

from collections.abc import Mapping
from enum import Enum, auto

from placement.candidates.trace import Form, Refusal


class Manner(Enum):
    """A special case of a code, which has a separate text."""

    # For each term, a provider satisfies it, but no provider satisfies all terms.
    APART = auto()
    # Only providers that cannot serve the group for another reason satisfy the terms.
    ELSEWHERE = auto()
    # Only the root satisfies the terms. It has none of the classes.
    ON_ROOT = auto()
    # Only sharing providers have enough capacity.
    SHARED = auto()
    # Only sharing providers satisfy the terms, or have the classes. They cannot serve the group.
    POOLS = auto()
    # Neither providers of the host nor sharing providers can serve the amounts.
    WITH_POOLS = auto()
    # Providers that earlier checks reject may satisfy a single condition on the inventory.
    ROOM = auto()
    # The amounts of the groups together exceed max_unit, but not the free capacity.
    MAX_UNIT = auto()
    # There are too few providers for the isolated groups, even without regard to capacity.
    ISOLATION = auto()
    # The amounts do not fit, even in parts.
    PARTS = auto()
    # A group for a provider above the providers is missing in `same_subtree`.
    SIBLINGS = auto()
    # The groups together exceed the free capacity of each subtree.
    SUBTREE_SUM = auto()


def _both(frame: str, *item: str, group: str = "{group}") -> tuple[Form, Form]:
    """Return the form of a detail, and the form of a predicate, with the same content."""
    return Form(frame, *item), Form(f"{{have}} {frame}{group}", *item)


def _shared(relative: str, item: str = "{noun}") -> tuple[Form, Form]:
    """Return both forms for sharing providers; `relative` is the relative clause about them."""
    frame = "{room} only on {pools}, " + relative
    return Form(frame, item), Form("{have} {room}{group} only on {pools}, " + relative, item)


def _apart(what: str, kind: str, *item: str, group: str = "{group}") -> tuple[Form, Form]:
    """Return both forms for classes or traits; `kind` is the noun of one of them."""
    remedy = f" (one group for each {kind} would ask for different providers)"
    refused, lacking = _both(f"{what} only on different providers", *item, " and ", group=group)
    return refused, lacking._replace(frame=lacking.frame + remedy)


def _unfit_pools(terms: str, only: str, item: str) -> tuple[Form, Form]:
    """Return both forms for terms that only sharing providers without enough capacity satisfy."""
    return (
        Form(f"{terms} {only} {{faulty_pools}}", item, " and "),
        Form(f"{{have}} {terms}{{group}} {only} {{faulty_pools}}", item, " and "),
    )


# The forms of amounts that no provider of a host can serve, although the checks that reject the
# providers differ.
_NO_ROOM = (
    Form("no provider with {room}{most_room}"),
    Form("{have} no provider with {room}{group}{most_room}"),
)
_POOLS = (
    Form("only {faulty_pools} for {amounts}"),
    Form("{have} only {faulty_pools} for {amounts}{group}"),
)
_WITH_POOLS = (
    Form("no {room}: {own_room}, and {faulty_pools}"),
    Form("{have} no {room}{group}: {own_room}, and {faulty_pools}"),
)
_AMOUNT_CODES = (Refusal.MIN_UNIT, Refusal.MAX_UNIT, Refusal.STEP_SIZE, Refusal.CAPACITY)


# The forms (refused, lacking) of the special cases.
FORMS_BY_MANNER: Mapping[tuple[Refusal, Manner], tuple[Form, Form]] = {
    **{(code, Manner.ROOM): _NO_ROOM for code in _AMOUNT_CODES},
    **{(code, Manner.POOLS): _POOLS for code in _AMOUNT_CODES},
    **{(code, Manner.WITH_POOLS): _WITH_POOLS for code in _AMOUNT_CODES},
    (Refusal.TRAIT_MISSING, Manner.POOLS): _unfit_pools("{items}", "only on", "{noun}"),
    (Refusal.NOT_IN_AGGREGATE, Manner.POOLS): _unfit_pools("in {items}", "only", "{noun}"),
    (Refusal.IN_TREE, Manner.POOLS): _unfit_pools("in {items}", "only", "{tree}"),
    (Refusal.SUBTREE, Manner.POOLS): _unfit_pools("in the subtree of {items}", "only", "{place}"),
    (Refusal.NO_INVENTORY, Manner.APART): _apart("{items}", "class", "{name}"),
    (Refusal.MIN_UNIT, Manner.APART): _both(
        "no provider whose min_unit allows {items} together",
        "{value} (the smallest is {there}{advice})",
        " and ",
    ),
    (Refusal.MAX_UNIT, Manner.APART): _both(
        "no provider whose max_unit allows {items} together",
        "{value} ({largest})",
        " and ",
    ),
    (Refusal.STEP_SIZE, Manner.APART): _both(
        "no provider whose step_size allows {items} together",
        "{value} (the smallest is {there}{advice})",
        " and ",
    ),
    (Refusal.CAPACITY, Manner.APART): _both(
        "{items} only on different providers", "{value} free (the most is {there})", " and "
    ),
    (Refusal.TRAIT_MISSING, Manner.APART): _apart("{items}", "trait", "{noun}"),
    (Refusal.TRAIT_MISSING, Manner.ELSEWHERE): _both(
        "{items} only on providers {unfit}", "{noun}", " and "
    ),
    (Refusal.TRAIT_MISSING, Manner.ON_ROOT): _both(
        "{items} only on the root, which has no {classes}", "{noun}", " and "
    ),
    (Refusal.TRAIT_MISSING, Manner.SHARED): _shared("{which_have} no {items}"),
    (Refusal.TRAIT_FORBIDDEN, Manner.ELSEWHERE): _both(
        "otherwise suitable providers only with the forbidden {items}", "{noun}"
    ),
    (Refusal.TRAIT_FORBIDDEN, Manner.SHARED): _shared("{which_have} the forbidden {items}"),
    (Refusal.NOT_IN_AGGREGATE, Manner.APART): _both(
        "no suitable provider that is in {items}", "{noun}", " and "
    ),
    (Refusal.NOT_IN_AGGREGATE, Manner.ELSEWHERE): _both(
        "in {items} only providers {unfit}", "{noun}", " and "
    ),
    (Refusal.NOT_IN_AGGREGATE, Manner.SHARED): _shared("{which_are} not in {items}"),
    (Refusal.IN_FORBIDDEN_AGGREGATE, Manner.ELSEWHERE): _both(
        "otherwise suitable providers only in the forbidden {items}", "{noun}"
    ),
    (Refusal.IN_FORBIDDEN_AGGREGATE, Manner.SHARED): _shared(
        "{which_are} in the forbidden {items}"
    ),
    (Refusal.IN_TREE, Manner.ELSEWHERE): _both("in {items} only providers {unfit}", "{tree}"),
    (Refusal.IN_TREE, Manner.SHARED): _shared("{which_are} not in {items}", "{tree}"),
    (Refusal.SUBTREE, Manner.ELSEWHERE): _both(
        "in the subtree of {items} only providers {unfit}", "{place}"
    ),
    (Refusal.SUBTREE, Manner.SHARED): _shared(
        "{which_are} not in the subtree of {items}", "{place}"
    ),
    (Refusal.COLLECTIVE_TRAITS, Manner.APART): _apart("{traits}", "trait", group=""),
    (Refusal.CAPACITY_SUM, Manner.MAX_UNIT): _both(
        "no provider whose max_unit allows {together} ({items})",
        "{value} asked, the largest is {there}",
        " and ",
        group="",
    ),
    (Refusal.CAPACITY_SUM, Manner.ISOLATION): _both("{fitting} for {isolated}", group=""),
    (Refusal.CAPACITY_SUM, Manner.PARTS): _both(
        "too little room for {items}", "{value}{in_parts}", " and ", group=""
    ),
    (Refusal.SAME_SUBTREE, Manner.APART): _both(
        "providers for {members}, but {none_above}", group=""
    ),
    (Refusal.SAME_SUBTREE, Manner.SIBLINGS): _both(
        "providers for {members}, but {none_above} ({missing_group})", group=""
    ),
    (Refusal.SAME_SUBTREE, Manner.SUBTREE_SUM): _both("{subtree_sum}", group=""),
}


def forms_of(code: Refusal, manner: Manner | None) -> tuple[Form, Form]:
    """Return the forms (refused, lacking) of a special case of a code, or of its general case."""
    plain = code.reason.refused, code.reason.lacking
    return plain if manner is None else FORMS_BY_MANNER.get((code, manner), plain)
