"""Requests as JSON, any that a query can say, for Hypothesis."""

from typing import Any

from hypothesis import strategies as st

TRAITS = ("HW_CPU_X86_AVX2", "HW_NUMA_ROOT", "CUSTOM_NET1", "CUSTOM_NET2")
CLASSES = ("VCPU", "MEMORY_MB", "SRIOV_NET_VF", "CUSTOM_BANDWIDTH")
UUIDS = tuple(f"0000000{digit}-0000-4000-8000-000000000000" for digit in range(5))
SUFFIXES = ("", "1", "_NIC", "_a-B")
_YES_OR_NO: st.SearchStrategy[bool] = st.booleans()


def names(choices: tuple[str, ...]) -> st.SearchStrategy[list[str]]:
    return st.lists(st.sampled_from(choices), min_size=1, max_size=2, unique=True)


def terms(choices: tuple[str, ...]) -> st.SearchStrategy[list[Any]]:
    """Return names and lists of several; the names come first, as a query has them."""
    choice = st.lists(st.sampled_from(choices), min_size=2, max_size=3, unique=True)
    return st.tuples(
        st.lists(st.sampled_from(choices), max_size=2, unique=True), st.lists(choice, max_size=2)
    ).map(lambda both: [*both[0], *both[1]])


@st.composite
def _conditions(draw: st.DrawFn) -> dict[str, Any]:
    """Return what a group and the root have in common, without empty members."""
    barred = draw(st.lists(st.sampled_from(TRAITS), max_size=1))
    allowed = tuple(name for name in TRAITS if name not in barred)
    members = {
        "required": draw(terms(allowed)),
        "forbidden": barred,
        "member_of": draw(terms(UUIDS)),
        "not_member_of": draw(st.lists(st.sampled_from(UUIDS), max_size=2, unique=True)),
    }
    return {name: value for name, value in members.items() if value}


@st.composite
def json_requests(draw: st.DrawFn) -> dict[str, Any]:
    """Return a request that a server takes."""
    groups: dict[str, Any] = {}
    for suffix in draw(st.lists(st.sampled_from(SUFFIXES), min_size=1, unique=True)):
        amounts = st.dictionaries(st.sampled_from(CLASSES), st.integers(1, 9), min_size=1)
        group = groups[suffix] = {"resources": draw(amounts), **draw(_conditions())}
        for member in ("in_tree", "subtree"):
            if draw(_YES_OR_NO):
                group[member] = draw(st.sampled_from(UUIDS))
        if not suffix and draw(_YES_OR_NO):
            group["can_split"] = list(group["resources"])[:2]
    request: dict[str, Any] = {"groups": groups}
    if root := draw(_conditions()):
        request["root"] = root
    if draw(_YES_OR_NO):
        request["tolerate"] = draw(names(TRAITS))
    suffixed = tuple(suffix for suffix in groups if suffix)
    if suffixed:
        _join(draw, request, suffixed)
    elif draw(_YES_OR_NO):
        request["group_policy"] = draw(st.sampled_from(["none", "isolate"]))
    return request


def _join(draw: st.DrawFn, request: dict[str, Any], suffixed: tuple[str, ...]) -> None:
    """Add rules that join groups, and isolation."""
    rules = draw(st.lists(names(suffixed).flatmap(lambda of: _rule(of, suffixed)), max_size=2))
    if rules:
        request["same_subtree"] = rules
    if draw(_YES_OR_NO):
        request["isolate"] = draw(names(suffixed))


def _rule(inside: list[str], suffixed: tuple[str, ...]) -> st.SearchStrategy[dict[str, list[str]]]:
    rules = [{"of": inside}]
    outside = [suffix for suffix in suffixed if suffix not in inside]
    if outside:
        rules.append({"of": inside, "not": outside})
    return st.sampled_from(rules)
