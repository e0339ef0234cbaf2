"""The forms of values in queries and flavors, and their conversion to and from JSON.

A reader takes the key (for errors), the value, and the object to which it adds the members: a
group, the root, or the request. A writer takes such an object and returns the values of the key,
one for each repetition.
"""

import re
import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from falcon_placement_client.errors import bad_value

Members = dict[str, Any]  # a JSON object that is being built

NAME = re.compile(r"[A-Z0-9_]{1,255}\Z")  # names of resource classes and traits
_AMOUNT = re.compile(r"[0-9]{1,18}\Z", re.ASCII)
_SUFFIX = re.compile(r"[A-Za-z0-9_-]{1,64}\Z", re.ASCII)


class Form(NamedTuple):
    """The conversion of one kind of value from and to JSON."""

    # Function that adds the JSON value of a text to an object.
    read: Callable[[str, str, Members], None]
    # Function that returns the texts of the values in an object.
    write: Callable[[Mapping[str, Any]], list[str]]


def read_amount(key: str, value: str, least: int = 1) -> int:
    """Return a whole number.  Raises RequestError if it is malformed or below `least`."""
    text = value.strip()
    if not _AMOUNT.match(text) or int(text) < least:
        raise bad_value(key, value, f"expected a whole number of at least {least}")
    return int(text)


def _read_resources(key: str, value: str, group: Members) -> None:
    amounts = {}
    for item in value.split(","):
        name, colon, amount = item.partition(":")
        if not (colon and NAME.match(name) and _AMOUNT.match(amount) and int(amount)):
            raise bad_value(key, value, "expected CLASS:AMOUNT pairs, separated by commas")
        amounts[name] = int(amount)
    group["resources"] = amounts


def _write_resources(group: Mapping[str, Any]) -> list[str]:
    amounts = group.get("resources") or {}
    text = ",".join(f"{name}:{amount}" for name, amount in amounts.items())
    return [text] if text else []


def _read_traits(key: str, value: str, terms: Members) -> None:
    if value.startswith("in:"):
        names = _names(key, value, value[3:], "in: and names of traits, separated by commas")
        _append(terms, "required", names if len(names) > 1 else names[0])
        return
    items = _split(value)
    _check_names(key, value, [item.removeprefix("!") for item in items], "T1,!T2 or in:T1,T2")
    for item in items:
        _append(terms, "forbidden" if item.startswith("!") else "required", item.removeprefix("!"))


def _write_traits(terms: Mapping[str, Any]) -> list[str]:
    sets = [_any_of(term) for term in terms.get("required") or ()]
    single = [names[0] for names in sets if len(names) == 1]
    single += [f"!{name}" for name in terms.get("forbidden") or ()]
    several = [f"in:{','.join(names)}" for names in sets if len(names) > 1]
    return [*([",".join(single)] if single else []), *several]


def _read_membership(key: str, value: str, terms: Members) -> None:
    text = value.strip()
    is_negated = text.startswith("!")
    names = text.removeprefix("!")
    uuids = _split(names[3:]) if names.startswith("in:") else [names]
    if not all(is_uuid(aggregate) for aggregate in uuids):
        raise bad_value(
            key, value, "expected the UUID of an aggregate, or in:UUID,UUID, or either with !"
        )
    if is_negated:
        for aggregate in uuids:
            _append(terms, "not_member_of", aggregate)
    else:
        _append(terms, "member_of", uuids if len(uuids) > 1 else uuids[0])


def _write_membership(terms: Mapping[str, Any]) -> list[str]:
    sets = [_any_of(term) for term in terms.get("member_of") or ()]
    values = [names[0] if len(names) == 1 else f"in:{','.join(names)}" for names in sets if names]
    excluded = list(terms.get("not_member_of") or ())
    if excluded:
        values.append(f"!{excluded[0]}" if len(excluded) == 1 else f"!in:{','.join(excluded)}")
    return values


def _read_subtree_rule(key: str, value: str, request: Members) -> None:
    items = _split(value)
    _check_suffixes(key, value, [item.removeprefix("!") for item in items])
    rule = {"of": [item for item in items if not item.startswith("!")]}
    outside = [item[1:] for item in items if item.startswith("!")]
    if not rule["of"]:
        raise bad_value(key, value, "expected a group without !, too")
    if outside:
        rule["not"] = outside
    _append(request, "same_subtree", rule)


def _write_subtree_rules(request: Mapping[str, Any]) -> list[str]:
    rules = request.get("same_subtree") or ()
    suffixes = [
        [*(rule.get("of") or ()), *(f"!{suffix}" for suffix in rule.get("not") or ())]
        for rule in rules
    ]
    return [",".join(rule_suffixes) for rule_suffixes in suffixes if rule_suffixes]


def _read_isolate(key: str, value: str, request: Members) -> None:
    suffixes = _split(value)
    _check_suffixes(key, value, suffixes)
    request.setdefault("isolate", []).extend(suffixes)


def _read_split(key: str, value: str, group: Members) -> None:
    names = _names(key, value, value, "resource classes, separated by commas")
    group.setdefault("can_split", []).extend(names)


def _read_tolerate(key: str, value: str, request: Members) -> None:
    names = _names(key, value, value, "traits, separated by commas")
    request.setdefault("tolerate", []).extend(names)


def _list_of(member: str) -> Callable[[Mapping[str, Any]], list[str]]:
    """Return a writer that joins a list of names into a single value."""

    def write(members: Mapping[str, Any]) -> list[str]:
        return [",".join(members[member])] if members.get(member) else []

    return write


def _provider(member: str) -> Form:
    """Return the form for the UUID of a provider."""

    def read(key: str, value: str, group: Members) -> None:
        if not is_uuid(value.strip()):
            raise bad_value(key, value, "expected the UUID of a resource provider")
        group[member] = value.strip()

    return Form(read, _scalar(member))


def _choice(member: str, *values: str) -> Form:
    """Return the form for a choice of several words."""

    def read(key: str, value: str, request: Members) -> None:
        if value not in values:
            raise bad_value(key, value, f"expected {' or '.join(values)}")
        request[member] = value

    return Form(read, _scalar(member))


def _read_limit(key: str, value: str, request: Members) -> None:
    request["limit"] = read_amount(key, value)


def _scalar(member: str) -> Callable[[Mapping[str, Any]], list[str]]:
    return lambda members: [str(members[member])] if member in members else []


_TRAITS = Form(_read_traits, _write_traits)
_MEMBERSHIP = Form(_read_membership, _write_membership)

# Forms in a group, in the root, and in the request, by keyword, in the order of output.
GROUP_FORMS: Mapping[str, Form] = {
    "resources": Form(_read_resources, _write_resources),
    "required": _TRAITS,
    "member_of": _MEMBERSHIP,
    "in_tree": _provider("in_tree"),
    "subtree": _provider("subtree"),
    "can_split": Form(_read_split, _list_of("can_split")),
}
ROOT_FORMS: Mapping[str, Form] = {"root_required": _TRAITS, "root_member_of": _MEMBERSHIP}
REQUEST_FORMS: Mapping[str, Form] = {
    "same_subtree": Form(_read_subtree_rule, _write_subtree_rules),
    "isolate": Form(_read_isolate, _list_of("isolate")),
    "group_policy": _choice("group_policy", "none", "isolate"),
    "tolerate": Form(_read_tolerate, _list_of("tolerate")),
    "limit": Form(_read_limit, _scalar("limit")),
    "explain": _choice("explain", "summary", "providers"),
}


def is_uuid(text: str) -> bool:
    """Return whether a text is a UUID in any spelling."""
    try:
        uuid.UUID(text)
    except ValueError:
        return False
    return True


def _any_of(term: str | Sequence[str]) -> list[str]:
    return [term] if isinstance(term, str) else list(term)


def _append(members: Members, member: str, item: Any) -> None:
    members.setdefault(member, []).append(item)


def _split(value: str) -> list[str]:
    return [item.strip() for item in value.split(",")]


def _names(key: str, value: str, joined_names: str, form: str) -> list[str]:
    names = _split(joined_names)
    _check_names(key, value, names, form)
    return names


def _check_names(key: str, value: str, names: Sequence[str], form: str) -> None:
    if not all(NAME.match(name) for name in names):
        raise bad_value(key, value, f"expected {form}")


def _check_suffixes(key: str, value: str, suffixes: Sequence[str]) -> None:
    if not all(_SUFFIX.match(suffix) for suffix in suffixes):
        raise bad_value(key, value, "expected suffixes of request groups, separated by commas")
