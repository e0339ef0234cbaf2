"""Flavors: candidate requests as operators write them, with one key for each condition.

====================================  ==========================================================
``resources[S]:CLASS=amount``         units of a class; 0: none; with any suffix, it replaces
                                      ``vcpus``, ``ram`` or ``disk`` (PCPU replaces ``vcpus``)
``trait[S]:NAME=required|forbidden``  providers must have the trait, or must not
``required[S]=in:T1,T2``              providers must have one of these traits
``member_of[S]=UUID``                 in the aggregate; also ``in:UUID,UUID``, ``!UUID``
``in_tree[S]=UUID``                   in the tree of this provider
``subtree[S]=UUID``                   this provider, or one below it
``can_split=CLASS,CLASS``             several providers may serve the amount together
``group_policy=none|isolate``         whether groups with a suffix need different providers
``isolate=S,S``                       the providers of these groups serve no other group
``same_subtree=S,S,!S``               one provider and its descendants; with ``!`` outside of it
``root_required=T1,!T2``              traits of the root of the tree; also ``in:T1,T2``
``root_member_of=UUID``               aggregates of the root, as ``member_of``
``placement:tolerate=T1,T2``          also hosts with these taints
``placement:order=JSON``              the order of hosts, as in the JSON form
``placement:first_available=JSON``    alternative requests; the first with a candidate is used
``vcpus``, ``ram``, ``disk``          VCPU, MEMORY_MB and DISK_GB without a suffix
``ephemeral``, ``swap``               added to ``disk``; ``swap`` is in MiB
====================================  ==========================================================

S, the suffix of a group, has letters, digits, _ and -. If a query can repeat a parameter, the key
of a flavor contains all values, separated by ``;``: ``same_subtree=_A,_B;_C,!_D``. Keys of nova,
such as ``hw:cpu_policy``, are translated to the same resources and traits as in nova
(`nova_properties`). Keys that only affect nova's filters and drivers, such as ``hw:mem_page_size``,
are ignored.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path

from falcon_placement_client import nova_properties, preferences
from falcon_placement_client.errors import RequestError, bad_value
from falcon_placement_client.json_request import AnyRequest, JsonRequest
from falcon_placement_client.query import GROUP_KEY, pairs_of, request_of
from falcon_placement_client.suggestions import did_you_mean, nearest
from falcon_placement_client.terms import GROUP_FORMS, NAME, REQUEST_FORMS, ROOT_FORMS, read_amount

Flavor = Mapping[str, str | int]

# Properties of every flavor -> their classes, and the units of the property in a unit of the class.
OWN_AMOUNTS = {
    "vcpus": ("VCPU", 1),
    "ram": ("MEMORY_MB", 1),
    "disk": ("DISK_GB", 1),
    "ephemeral": ("DISK_GB", 1),
    "swap": ("DISK_GB", 1024),
}
# Namespaces of keys of nova's scheduler and drivers.
OTHER_NAMESPACES = frozenset(
    (
        *("accel", "aggregate_instance_extra_specs", "capabilities", "hw", "hw_rng", "hw_video"),
        *("os", "pci_passthrough", "powervm", "quota", "trust", "vmware"),
    )
)
OTHER_KEYS = frozenset(("hide_hypervisor_id",))  # an old key of nova, which has no namespace
_NO_PART = ("limit", "explain")  # members of a request that flavors cannot contain
# Prefix of keys that only this service supports.
PREFIX = "placement:"
_PREFIXED = ("tolerate",)

_AMOUNT_KEY = re.compile(r"resources(?P<suffix>[\w-]{0,64}):(?P<name>.+)\Z", re.ASCII)
_TRAIT_KEY = re.compile(r"trait(?P<suffix>[\w-]{0,64}):(?P<name>.+)\Z", re.ASCII)
_TRAIT_MARKS = {"required": "", "forbidden": "!"}
_KEYS = (
    *(
        name
        for name in (*GROUP_FORMS, *ROOT_FORMS, *REQUEST_FORMS)
        if name not in ("resources", *_NO_PART, *_PREFIXED)
    ),
    *(PREFIX + name for name in _PREFIXED),
    *preferences.READERS,
    preferences.FIRST_AVAILABLE,
    *(*OWN_AMOUNTS, "resources:CLASS", "trait:NAME"),
)


def request_of_flavor(flavor: Flavor) -> JsonRequest:
    """Return the request of a flavor as JSON.

    Raises:
        RequestError: a key is unknown, a value is malformed, or groups contradict each other; the
            text names the key and says what was expected.
    """
    if preferences.FIRST_AVAILABLE in flavor:
        text = "the flavor makes several requests, where one is expected"
        raise RequestError(preferences.FIRST_AVAILABLE, text)
    preferred = {key: value for key, value in flavor.items() if key in preferences.READERS}
    flavor = nova_properties.translate(
        {key: value for key, value in flavor.items() if key not in preferred}
    )
    request = request_of(list(_pairs(flavor)))
    preferences.read(preferred, request)
    _check_resourceless(request, flavor)
    _check_suffixes(request)
    _check_splits(request)
    if request.get("isolate") and "group_policy" in request:
        raise RequestError("isolate", "expected without group_policy, which applies to all groups")
    return request


def flavor_of_request(request: AnyRequest) -> dict[str, str]:
    """Return the flavor of a request, without its `limit` and `explain`.

    Raises:
        RequestError: a flavor cannot contain the request: a group has no conditions, or a trait is
        both required and forbidden.
    """
    values: dict[str, list[str]] = {}
    flavor = preferences.written(request)
    if "first_available" in request:
        return flavor
    for key, value in pairs_of(preferences.without(request)):
        match = GROUP_KEY.match(key)
        keyword, suffix = (match["keyword"], match["suffix"]) if match else (key, "")
        if keyword == "resources":
            for item in value.split(","):
                name, _colon, amount = item.partition(":")
                flavor[f"resources{suffix}:{name}"] = amount
        elif keyword == "required" and not value.startswith("in:"):
            for item in value.split(","):
                mark = "forbidden" if item.startswith("!") else "required"
                trait_key = f"trait{suffix}:{item.removeprefix('!')}"
                if flavor.setdefault(trait_key, mark) != mark:
                    raise RequestError(trait_key, "required and forbidden at once")
        elif keyword not in _NO_PART:
            prefix = PREFIX if keyword in _PREFIXED else ""
            values.setdefault(prefix + key, []).append(value)
    return flavor | {key: ";".join(parts) for key, parts in values.items()}


def keys_of(flavor: Flavor, key: str) -> str:
    """Return the keys of a flavor that state a key of its request, or this key if none does."""
    if key in flavor:
        return key
    name = key.removeprefix("resources:")
    own = [each for each in flavor if OWN_AMOUNTS.get(each, ("",))[0] == name]
    if key in nova_properties.translate(flavor):
        own = [each for each in flavor if not _states_without(flavor, each, key)]
    return " and ".join(own) or key


def _states_without(flavor: Flavor, omitted: str, key: str) -> bool:
    others = {each: value for each, value in flavor.items() if each != omitted}
    try:
        return key in nova_properties.translate(others)
    except RequestError:  # the keys about CPUs need each other
        return not key.endswith("CPU")


def ignored_keys(flavor: Flavor) -> list[str]:
    """Return the keys that do not affect the request to the placement service."""
    return [key for key in flavor if _is_ignored(key)]


def parse_flavor(settings: Iterable[str]) -> dict[str, str]:
    """Return the flavor in `key=value` texts. Raises RequestError if a text is malformed."""
    flavor: dict[str, str] = {}
    for setting in settings:
        key, equals, value = (part.strip() for part in setting.partition("="))
        if not (key and equals):
            raise RequestError(setting.strip(), "expected key=value")
        if key in flavor:
            raise RequestError(key, "this key is given twice")
        flavor[key] = value
    return flavor


def read_flavor_file(path: str) -> dict[str, str]:
    """Return the flavor in a file. Each line is `key=value`, and `#` begins a comment.

    The function does not check the keys.

    Raises:
        RequestError: a line is malformed, or the file cannot be read; `key` is `file:line` or
            `file`.
    """
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "expected UTF-8 text"
        raise RequestError(path, f"cannot be read: {reason}") from None
    flavor: dict[str, str] = {}
    for number, line in enumerate(lines, 1):
        text = line.strip()
        if text and not text.startswith("#"):
            try:
                setting = parse_flavor([text])
            except RequestError as error:
                raise RequestError(f"{path}:{number}", str(error)) from None
            for key in setting.keys() & flavor.keys():
                raise RequestError(f"{path}:{number}", f"{key}: this key is given twice")
            flavor |= setting
    return flavor


def _pairs(flavor: Flavor) -> Iterator[tuple[str, str]]:
    """Yield the equivalent parameters of a query."""
    amounts: dict[str, dict[str, int]] = {}
    stated = set()
    for key, value in flavor.items():
        if match := _AMOUNT_KEY.match(key):
            _check_name(key, match["name"], "a resource class: resources:VCPU")
            amount = read_amount(key, str(value), least=0)
            amounts.setdefault(match["suffix"], {})[match["name"]] = amount
            stated.add(match["name"])
    # The amounts of the flavor itself belong to the unsuffixed group, unless a group states them.
    if "PCPU" in stated:
        stated.add("VCPU")
    own = {name: each for name, each in _own_amounts(flavor).items() if name not in stated}
    if own:
        amounts[""] = own | amounts.get("", {})
    for suffix, group in amounts.items():
        if any(group.values()):
            items = (f"{name}:{amount}" for name, amount in group.items() if amount)
            yield f"resources{suffix}", ",".join(items)
    for key, value in flavor.items():
        yield from _pairs_of_key(key, str(value).strip())


def _own_amounts(flavor: Flavor) -> dict[str, int]:
    """Return the amounts of the properties that every flavor has. Raises RequestError."""
    amounts: dict[str, int] = {}
    for key, (name, units) in OWN_AMOUNTS.items():
        if key in flavor:
            amount = read_amount(key, str(flavor[key]), least=0)
            amounts[name] = amounts.get(name, 0) + -(-amount // units)
    return amounts


def _pairs_of_key(key: str, value: str) -> Iterator[tuple[str, str]]:
    if match := _TRAIT_KEY.match(key):
        _check_name(key, match["name"], "a trait: trait:HW_CPU_X86_AVX2")
        if value not in _TRAIT_MARKS:
            raise bad_value(key, value, f"expected {' or '.join(_TRAIT_MARKS)}")
        yield f"required{match['suffix']}", _TRAIT_MARKS[value] + match["name"]
    elif _is_own(key):
        for part in value.split(";"):
            yield key.removeprefix(PREFIX), part.strip()
    elif key not in OWN_AMOUNTS and not _AMOUNT_KEY.match(key) and not _is_ignored(key):
        forms = {form.partition(":")[0]: form for form in _KEYS}
        proposals = (forms[name] for name in nearest(key.partition(":")[0], forms))
        hint = did_you_mean(proposals) or f"; there are {', '.join(_KEYS)}"
        raise RequestError(key, f"no such key of a flavor{hint}")


def _is_own(key: str) -> bool:
    """Return whether a key has the form of a query parameter."""
    match = GROUP_KEY.match(key)
    if match:
        return match["keyword"] != "resources"
    if key.startswith(PREFIX) or key in _PREFIXED:
        return key.startswith(PREFIX) and key.removeprefix(PREFIX) in _PREFIXED
    return key in ROOT_FORMS or (key in REQUEST_FORMS and key not in _NO_PART)


def _is_ignored(key: str) -> bool:
    if nova_properties.is_translated(key):
        return False
    namespace, colon, _name = key.partition(":")
    return key in OTHER_KEYS or (bool(colon) and namespace in OTHER_NAMESPACES)


def _check_name(key: str, name: str, form: str) -> None:
    if not NAME.match(name):
        raise RequestError(key, f"expected the name of {form}")


def _check_resourceless(request: JsonRequest, flavor: Flavor) -> None:
    """Raise RequestError if the request is empty or a group is not related to another group."""
    groups = request["groups"]
    if not any("resources" in group for group in groups.values()):
        raise RequestError("resources:CLASS", "expected an amount of at least one resource class")
    suffixes_in_rules = _suffixes_in_rules(request)
    for suffix, group in groups.items():
        if "resources" not in group and suffix not in suffixes_in_rules:
            key = next(key for key in flavor if _suffix_of(key) == suffix)
            raise RequestError(
                key,
                f"the group requests no resources; expected resources{suffix}:CLASS"
                f"{f', or {suffix} in same_subtree' if suffix else ''}",
            )


def _suffix_of(key: str) -> str | None:
    match = _TRAIT_KEY.match(key) or GROUP_KEY.match(key)
    return match["suffix"] if match else None


def _check_suffixes(request: JsonRequest) -> None:
    """Raise RequestError for suffixes that no group has."""
    references = [("same_subtree", suffix) for suffix in _suffixes_in_rules(request)]
    references += [("isolate", suffix) for suffix in request.get("isolate", ())]
    for key, suffix in references:
        if suffix not in request["groups"]:
            groups = ", ".join(name for name in request["groups"] if name) or "none"
            raise bad_value(key, suffix, f"no group has this suffix; there are {groups}")


def _suffixes_in_rules(request: JsonRequest) -> list[str]:
    rules = request.get("same_subtree", ())
    return list(chain.from_iterable((*rule["of"], *rule.get("not", ())) for rule in rules))


def _check_splits(request: JsonRequest) -> None:
    group = request["groups"].get("", {})
    for name in group.get("can_split", ()):
        if name not in group.get("resources", {}):
            text = f"expected a class that is requested: resources:{name}"
            raise bad_value("can_split", name, text)
