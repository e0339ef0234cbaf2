"""Explanations as a person reads them, and what a terminal shows of them."""

import io
from typing import Any

import pytest

from falcon_placement_client.commands import explanation
from falcon_placement_client.commands.explanation import Terminal
from falcon_placement_client.query import parse_query
from placement.candidates.model import Refusal

HOSTS = [f"{number:08}-0000-4000-8000-000000000000" for number in range(9)]
REQUEST = parse_query(
    "resources=VCPU:64&resources_NIC=SRIOV_NET_VF:1&required_NIC=CUSTOM_NET1"
    "&required_NUMA=HW_NUMA_ROOT&same_subtree=_NUMA,_NIC&root_required=COMPUTE_NODE"
)
EXPLANATION: dict[str, Any] = {
    "hosts": {"all": 50, "looked": 50, "served": 0, "complete": True},
    "groups": {
        "": [
            {"code": "no_inventory", "detail": "", "before": 50, "after": 48},
            {"code": "max_unit", "detail": "64 VCPU", "before": 48, "after": 0},
        ],
        "_NIC": [
            {"code": "no_inventory", "detail": "SRIOV_NET_VF", "before": 50, "after": 10},
            {"code": "capacity", "detail": "", "before": 10, "after": 10},
        ],
        "_NUMA": [],
    },
    "together": [{"code": "same_subtree", "detail": "_NUMA,_NIC", "before": 9, "after": 8}],
    "blocked": [
        {
            "code": "max_unit",
            "group": "",
            "detail": "64 VCPU asked, the largest max_unit is 48",
            "hosts": 48,
            "examples": HOSTS[:5],
        },
        {
            "code": "same_subtree",
            "group": None,
            "detail": "",
            "hosts": 2,
            "examples": HOSTS[5:7],
        },
    ],
    "relaxations": [
        {"reduce": 'groups[""].resources.VCPU', "to": 48, "hosts": 12},
        {"drop": "groups._NIC.required[0]", "value": "CUSTOM_NET1", "hosts": 1},
    ],
    "text": "No host serves 64 VCPU at once.",
}


def told(document: dict[str, Any], terminal: Terminal | None = None) -> str:
    """Return what is printed; hosts have short names."""
    lines = explanation.lines(
        document, REQUEST, terminal or Terminal(), lambda uuid: f"host{int(uuid[:8])}"
    )
    return "\n".join(line.rstrip() for line in lines)


def meant(entry: dict[str, Any]) -> dict[str, Any]:
    """The entry as a server gives it."""
    (meaning,) = (code.meaning for code in Refusal if code == entry["code"])
    return {**entry, "meaning": meaning}


EXPLANATION |= {
    "groups": {
        suffix: [meant(step) for step in steps] for suffix, steps in EXPLANATION["groups"].items()
    },
    "together": [meant(step) for step in EXPLANATION["together"]],
    "blocked": [meant(entry) for entry in EXPLANATION["blocked"]],
}


def test_an_explanation_shows_funnels_reasons_and_relaxations() -> None:
    assert told(EXPLANATION) == (
        """\
No host serves 64 VCPU at once.

Group without suffix: resources=VCPU:64
  50  ████████████████████████  hosts
  48  ███████████████████████    -2  no provider has inventory of every class
   0                            -48  the amount is above max_unit: 64 VCPU

Group _NIC: resources=SRIOV_NET_VF:1  required=CUSTOM_NET1
  50  ████████████████████████  hosts
  10  █████                     -40  no provider has inventory of every class:
                                     SRIOV_NET_VF

Group _NUMA: required=HW_NUMA_ROOT

All groups together: same_subtree=_NUMA,_NIC  root_required=COMPUTE_NODE
  9  ████████████████████████  hosts
  8  █████████████████████     -1  no subtree serves these groups together:
                                   _NUMA,_NIC

Why hosts cannot serve it: the first condition that fails
  48  64 VCPU asked, the largest max_unit is 48  [max_unit]
      host0, host1, host2, …
   2  no subtree serves these groups together  [same_subtree]
      host5, host6

What would help
  12 hosts  with 48 VCPU
   1 host   without the trait CUSTOM_NET1 (group _NIC)"""
    )


def test_a_long_name_is_not_broken() -> None:
    terminal = Terminal(width=40)
    text = f"group=_A.member_of={'x' * 30}.required={'Y' * 60}"
    assert list(terminal.wrap(f"a {text} b", "  ")) == ["  a", f"  {text}", "  b"]


def test_a_bound_on_work_is_reported() -> None:
    hosts = {"all": 100000, "looked": 30000, "served": 4, "complete": False}
    text = told({**EXPLANATION, "hosts": hosts})
    assert text.splitlines()[1] == (
        "30,000 of 100,000 hosts were examined: the limit on work was reached."
    )


def test_single_hosts_are_reported_with_the_details_of_their_room() -> None:
    entry = {
        "host": HOSTS[1],
        "code": "capacity",
        "group": "_A",
        "provider": HOSTS[2],
        "resource_class": "VCPU",
        "asked": 64,
        "room": 3,
        "total": 64,
        "reserved": 2,
        "used": 245,
        "allocation_ratio": 4.0,
        "min_unit": 1,
        "max_unit": 64,
        "step_size": 2,
    }
    bare = {"host": HOSTS[3], "code": "same_subtree", "group": None}
    text = told({**EXPLANATION, "providers": [entry, bare]}, Terminal(120))
    assert text.partition("Host by host\n")[2] == (
        "  host1: no provider has that much left (group _A); host2; VCPU, asked 64, "
        "room 3 = (64 - 2 reserved) x 4 - 245 used,\n      units 1 to 64 by 2\n"
        "  host3: no subtree serves these groups together"
    )


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ({"drop": 'groups[""].required[0]', "value": "T"}, "without the trait T"),
        (
            {"drop": "groups._A.required[1]", "value": ["T", "U"]},
            "without the trait T or U (group _A)",
        ),
        ({"drop": "groups.1.forbidden[0]", "value": "T"}, "with the trait T allowed (group 1)"),
        ({"drop": "root.required[0]", "value": "T"}, "without the trait T (root)"),
        ({"drop": "root.member_of[0]", "value": "A"}, "without the aggregate A (root)"),
        ({"drop": "groups.-b.in_tree", "value": "X"}, "without in_tree X (group -b)"),
        ({"drop": "isolate[0]", "value": "_A"}, "with other groups on the provider of _A"),
        ({"drop": "group_policy", "value": "isolate"}, "with several groups on one provider"),
        (
            {"drop": "same_subtree[1]", "value": {"of": ["_A"], "not": ["_B"]}},
            "without same_subtree=_A,!_B",
        ),
        ({"drop": "something.new.here", "value": 1}, "without something.new.here"),
        ({"reduce": "groups._A.resources.VGPU", "to": 2}, "with 2 VGPU (group _A)"),
    ],
)
def test_relaxations_are_rendered_as_text(entry: dict[str, Any], words: str) -> None:
    assert explanation.describe_relaxation(entry) == words


class _Tty(io.StringIO):
    def __init__(self, encoding: str) -> None:
        super().__init__()
        self._encoding = encoding

    def isatty(self) -> bool:
        return True

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return self._encoding


def test_only_a_terminal_gets_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert "\x1b[31m" in told(EXPLANATION, Terminal.of(_Tty("utf-8")))
    assert "\x1b" not in told(EXPLANATION, Terminal.of(io.StringIO()))
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in told(EXPLANATION, Terminal.of(_Tty("utf-8")))
