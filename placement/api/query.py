"""Query strings: ordered pairs to `CandidateRequest`, `ProviderFilter` and their like.

Raises BadQuery, which names the parameter and the value; knows no HTTP.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from urllib.parse import parse_qsl

from placement.candidates.request import UNSUFFIXED, CandidateRequest, RequestGroup
from placement.errors import QUERY_BAD_VALUE, QUERY_DUPLICATE_KEY, QUERY_MISSING_VALUE, BadQuery
from placement.objects import identifiers
from placement.objects.providers import ProviderFilter
from placement.objects.traits import TraitFilter

Pairs = Sequence[tuple[str, str]]

MAX_CONDITIONS = 100  # of one kind in one statement
SHOWN = 80  # characters of a value that are repeated to the client
TOO_MUCH = 2**31  # more than any max_unit: an amount that fits nowhere

_DASHED_UUID = re.compile(r"[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}\Z")
_INTEGER = re.compile(r"\s*[+-]?[0-9]+\s*\Z", re.ASCII)
_LIMIT = re.compile(r"[1-9][0-9]*\Z", re.ASCII)
_CONSUMER_TYPE = re.compile(r"([A-Z0-9_]+|all|unknown)\Z", re.ASCII)
_GROUP_KEY = re.compile(
    r"(?P<key>resources|required|member_of|in_tree)(?P<suffix>[a-zA-Z0-9_-]{1,64})?\Z", re.ASCII
)


def bad(key: str, value: str, what: str, code: str | None = None) -> BadQuery:
    """The error for a parameter: it says which, its value and what is wrong with it."""
    shown = value if len(value) <= SHOWN else f"{value[:SHOWN]}…"
    text = f"{key}={shown!r}: {what}"
    return BadQuery(text) if code is None else BadQuery(text, code)


def pairs(query_string: str) -> Pairs:
    """Decode a query string; blank values are kept, order and repeats matter."""
    try:
        found = parse_qsl(
            query_string.encode("latin-1").decode("utf-8"), keep_blank_values=True, errors="strict"
        )
    except (UnicodeError, ValueError) as error:
        raise BadQuery(f"The query string is not valid UTF-8: {error}") from None
    for key, value in found:
        if not identifiers.storable(value):
            raise bad(key, value, "a null character or a lone surrogate cannot be used")
    return found


def last_values(given: Pairs, known: Iterable[str]) -> dict[str, str]:
    """The last value of each parameter.  Raises BadQuery for a parameter that is not known."""
    allowed = frozenset(known)
    for key, value in given:
        if key not in allowed:
            raise bad(key, value, f"no such parameter; there are {', '.join(sorted(allowed))}")
    return dict(given)


# -- values that several parameters have in common ------------------------------------------


def _resources(key: str, value: str) -> tuple[tuple[str, int], ...]:
    """`CLASS:AMOUNT,…`; of a class named twice the last amount counts."""
    found: dict[str, int] = {}
    for item in value.split(","):
        name, colon, amount = item.partition(":")
        if not colon or not _INTEGER.match(amount):
            raise bad(key, value, "expected CLASS:AMOUNT pairs, separated by commas")
        digits = amount.strip().lstrip("+")
        number = TOO_MUCH if len(digits) > 10 and digits[0] != "-" else int(digits[:12])
        if number < 1:
            raise bad(key, value, f"the amount of {name} must be at least 1")
        found[name] = min(number, TOO_MUCH)
    return tuple(found.items())


@dataclass(slots=True)
class _Traits:
    """Required terms (any of each set) and forbidden traits."""

    required: list[frozenset[str]] = field(default_factory=list)
    forbidden: set[str] = field(default_factory=set)

    def add(self, key: str, value: str, any_of: bool = True) -> None:
        """`T1,!T2` or, where `any_of` is allowed, `in:T1,T2`."""
        prefixed = any_of and value.startswith("in:")
        items = [item.strip() for item in value.removeprefix("in:" if prefixed else "").split(",")]
        names = [item.lstrip("!") for item in items]
        if not all(names):
            raise bad(key, value, "expected names of traits, separated by commas")
        if prefixed:
            if names != items:
                raise bad(key, value, "a forbidden trait cannot stand inside in:")
            self.required.append(frozenset(names))
            return
        for item, name in zip(items, names, strict=True):
            if item == name:
                self.required.append(frozenset([name]))
            else:
                self.forbidden.add(name)

    @property
    def contradictions(self) -> list[str]:
        """Traits that are required and forbidden at once."""
        return sorted({name for term in self.required if term <= self.forbidden for name in term})


@dataclass(slots=True)
class _Membership:
    """Positive terms (any of each set) and aggregates to stay out of."""

    positive: list[frozenset[str]] = field(default_factory=list)
    negative: set[str] = field(default_factory=set)

    def add(self, key: str, value: str) -> None:
        """`AGG`, `in:AGG,…`, `!AGG` or `!in:AGG,…`."""
        text = value.removeprefix("!")
        listed = text.startswith("in:")
        uuids = text.removeprefix("in:").split(",") if listed else [text]
        if not all(identifiers.canonical(uuid) for uuid in uuids):
            raise bad(key, value, "expected the UUID of an aggregate, or in:UUID,UUID…")
        if text == value:
            self.positive.append(frozenset(uuids))
        else:
            self.negative.update(uuids)


# -- GET /resource_providers ----------------------------------------------------------------

PROVIDER_KEYS = ("name", "uuid", "in_tree", "member_of", "required", "resources")


def parse_provider_filter(given: Pairs) -> ProviderFilter:
    """The filters of `GET /resource_providers` (contract resources.md section 1.6)."""
    values = last_values(given, PROVIDER_KEYS)
    for key in ("uuid", "in_tree"):
        if key in values and not _DASHED_UUID.match(values[key]):
            raise bad(key, values[key], "expected a UUID with dashes")
    traits, membership = _Traits(), _Membership()
    for key, value in given:
        if key == "required":
            traits.add(key, value)
        elif key == "member_of":
            membership.add(key, value)
    resources = _resources("resources", values["resources"]) if "resources" in values else ()
    several = [term for term in traits.required if len(term) > 1]
    for key, terms in (
        ("required", several), ("member_of", membership.positive), ("resources", resources)
    ):  # fmt: skip
        if len(terms) > MAX_CONDITIONS:
            raise BadQuery(
                f"{key}: {len(terms)} conditions are too many, {MAX_CONDITIONS} the most"
            )
    return ProviderFilter(
        name=values.get("name") or None,
        uuid=values.get("uuid"),
        in_tree=values.get("in_tree"),
        required=tuple(traits.required),
        forbidden=frozenset(traits.forbidden),
        member_of=tuple(membership.positive),
        not_member_of=frozenset(membership.negative),
        resources=resources,
    )


# -- GET /traits ----------------------------------------------------------------------------


def parse_trait_filter(given: Pairs) -> TraitFilter:
    """The filters of `GET /traits` (contract resources.md section 4)."""
    values = last_values(given, ("name", "associated"))
    names: frozenset[str] | None = None
    prefix: str | None = None
    if "name" in values:
        operator, colon, text = values["name"].partition(":")
        if not colon:
            raise bad("name", values["name"], "expected in:NAME,NAME… or startswith:PREFIX")
        if operator == "in":
            names = frozenset(text.split(","))
        elif operator == "startswith":
            prefix = text
    associated: bool | None = None
    if "associated" in values:
        stated = values["associated"].lower()
        if stated not in {"true", "false"}:
            raise bad("associated", values["associated"], "expected true or false")
        associated = stated == "true"
    return TraitFilter(names, prefix, associated)


# -- GET /usages ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class UsageQuery:
    """Whose usage to show."""

    project: str
    user: str | None
    consumer_type: str | None


def parse_usage_query(given: Pairs) -> UsageQuery:
    """The parameters of `GET /usages` (contract resources.md section 6.2)."""
    values = last_values(given, ("project_id", "user_id", "consumer_type"))
    if "project_id" not in values:
        raise BadQuery("project_id: this parameter is required")
    for key, value in values.items():
        if not 1 <= len(value) <= 255:
            raise bad(key, value, "expected 1 to 255 characters")
    consumer_type = values.get("consumer_type")
    if consumer_type is not None and not _CONSUMER_TYPE.match(consumer_type):
        raise bad("consumer_type", consumer_type, "expected a type, or all, or unknown")
    return UsageQuery(values["project_id"], values.get("user_id"), consumer_type)


# -- GET /allocation_candidates -------------------------------------------------------------


@dataclass(slots=True)
class _Group:
    """A request group while its parameters are read."""

    resources: tuple[tuple[str, int], ...] = ()
    traits: _Traits = field(default_factory=_Traits)
    membership: _Membership = field(default_factory=_Membership)
    in_tree: str | None = None

    def add(self, keyword: str, key: str, value: str) -> None:
        """Read one parameter; `keyword` is its name without the suffix."""
        if keyword == "resources":
            self.resources = _resources(key, value)
        elif keyword == "required":
            self.traits.add(key, value)
        elif keyword == "member_of":
            self.membership.add(key, value)
        else:
            self.in_tree = value.strip()
            if not identifiers.canonical(self.in_tree):
                raise bad(key, value, "expected the UUID of a resource provider")

    def made(self, suffix: str) -> RequestGroup:
        """The frozen value."""
        return RequestGroup(
            suffix,
            self.resources,
            tuple(dict.fromkeys(self.traits.required)),
            frozenset(self.traits.forbidden),
            tuple(dict.fromkeys(self.membership.positive)),
            frozenset(self.membership.negative),
            self.in_tree,
        )


REQUEST_KEYS = frozenset({"limit", "group_policy", "root_required", "same_subtree"})


def parse_candidates(given: Pairs) -> CandidateRequest:
    """The parameters of `GET /allocation_candidates`, checked in the order of contract
    candidates.md section 3."""
    _check_names(given)
    limit = _limit(given)
    isolate = _group_policy(given)
    root = _root_required(given)
    if root.contradictions:
        raise bad(
            "root_required",
            ",".join(root.contradictions),
            "required and forbidden at once",
            QUERY_BAD_VALUE,
        )
    subtrees = _same_subtree(given)
    groups = _groups(given)
    _check_groups(groups, subtrees)
    for suffix, group in groups.items():
        if group.traits.contradictions:
            text = ",".join(group.traits.contradictions)
            raise bad(f"required{suffix}", text, "required and forbidden at once")
    if isolate is None and sum(suffix != UNSUFFIXED for suffix in groups) > 1:
        raise BadQuery(
            "group_policy: this parameter is required with two or more suffixed groups; "
            "use none or isolate"
        )
    return CandidateRequest(
        tuple(group.made(suffix) for suffix, group in groups.items()),
        isolate=bool(isolate),
        same_subtree=subtrees,
        root_required=frozenset().union(*root.required),
        root_forbidden=frozenset(root.forbidden),
        limit=limit,
    )


def _check_names(given: Pairs) -> None:
    for key, value in given:
        if key not in REQUEST_KEYS and not _GROUP_KEY.match(key):
            raise bad(
                key,
                value,
                "no such parameter; there are resources, required, member_of and in_tree, each "
                "also with a suffix of 1 to 64 letters, digits, _ and -, and "
                f"{', '.join(sorted(REQUEST_KEYS))}",
            )


def _all(given: Pairs, wanted: str) -> list[str]:
    return [value for key, value in given if key == wanted]


def _limit(given: Pairs) -> int | None:
    values = _all(given, "limit")
    for value in values:
        if not _LIMIT.match(value):
            raise bad("limit", value, "expected an integer of at least 1")
    # More digits than that bound nothing.
    return int(values[0][:18]) if values else None


def _group_policy(given: Pairs) -> bool | None:
    """Whether to isolate; None when nothing is said."""
    values = _all(given, "group_policy")
    for value in values:
        if value not in {"none", "isolate"}:
            raise bad("group_policy", value, "expected none or isolate")
    return values[0] == "isolate" if values else None


def _root_required(given: Pairs) -> _Traits:
    values = _all(given, "root_required")
    if len(values) > 1:
        raise BadQuery("root_required: this parameter may be given only once", QUERY_DUPLICATE_KEY)
    traits = _Traits()
    for value in values:
        if value.startswith("in:"):
            raise bad("root_required", value, "in: is not supported here")
        traits.add("root_required", value, any_of=False)
    return traits


def _same_subtree(given: Pairs) -> tuple[frozenset[str], ...]:
    found: dict[frozenset[str], None] = {}
    for value in _all(given, "same_subtree"):
        suffixes = [item.strip() for item in value.split(",")]
        if not all(suffixes):
            text = "expected suffixes of request groups, separated by commas"
            raise bad("same_subtree", value, text, QUERY_BAD_VALUE)
        found[frozenset(suffixes)] = None
    return tuple(found)


def _groups(given: Pairs) -> dict[str, _Group]:
    groups: dict[str, _Group] = {}
    for key, value in given:
        matched = _GROUP_KEY.match(key)
        if matched:
            group = groups.setdefault(matched["suffix"] or UNSUFFIXED, _Group())
            group.add(matched["key"], key, value)
    return groups


def _check_groups(groups: dict[str, _Group], subtrees: Iterable[frozenset[str]]) -> None:
    if not any(group.resources for group in groups.values()):
        raise BadQuery(
            "resources: at least one group must ask for resources: resources=CLASS:AMOUNT",
            QUERY_MISSING_VALUE,
        )
    joined = frozenset().union(*subtrees)
    for suffix, group in groups.items():
        if not group.resources and suffix not in joined:
            raise BadQuery(
                f"resources{suffix}: a group without resources must have a suffix that "
                f"same_subtree names",
                QUERY_BAD_VALUE,
            )
    unknown = joined - groups.keys()
    if unknown:
        text = "no request group has this suffix"
        raise bad("same_subtree", ",".join(sorted(unknown)), text, QUERY_BAD_VALUE)
