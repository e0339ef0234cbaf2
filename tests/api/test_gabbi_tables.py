"""The expansion of the short form of gabbits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from gabbi.exception import GabbiFormatError

from placement.api.history import LATEST
from tests.api import gabbi_tables
from tests.api.gabbi_tables import VERSION_HEADER

P1 = "00000000-0000-0000-0000-000000000001"


def load(tmp_path: Path, text: str, version: str = "1.6") -> list[dict[str, Any]]:
    path = tmp_path / "some.yaml"
    head = f"defaults: {{request_headers: {{{VERSION_HEADER}: placement {version}}}}}\ntests:\n"
    path.write_text(head + text)
    return list(gabbi_tables.load(path)["tests"])


def version(test: dict[str, Any]) -> str:
    return str(test["request_headers"][VERSION_HEADER])


def test_a_request_is_sent_in_each_version_of_its_table(tmp_path: Path) -> None:
    text = """
- links: GET /resource_providers/$P1
  $.uuid: $P1
  1.0 1.14: 200 uncached
  1.15: [200 cached, {$.name: one}]
"""
    tests = load(tmp_path, text)
    assert [test["name"] for test in tests] == ["links at 1.0", "links at 1.14", "links at 1.15"]
    assert [version(test) for test in tests] == [f"placement {v}" for v in ("1.0", "1.14", "1.15")]
    assert {test["GET"] for test in tests} == {f"/resource_providers/{P1}"}
    assert {test["status"] for test in tests} == {200}
    assert tests[1]["response_json_paths"] == {"$.uuid": P1}
    assert tests[1]["response_forbidden_headers"] == ["cache-control", "last-modified"]
    assert tests[2]["response_json_paths"] == {"$.uuid": P1, "$.name": "one"}


def test_an_arc_is_taken_in_each_version_with_its_values(tmp_path: Path) -> None:
    text = """
- each_version:
    1.8: {CONSUMER: $C1, GENERATION: 2}
    1.12: {CONSUMER: $C2, GENERATION: 3}
  steps:
  - claim: PUT /allocations/$CONSUMER
    data: {at: $VERSION, generation: $GENERATION}
    answer: 204
  - read: GET /allocations/$CONSUMER
    1.20: 200
"""
    tests = load(tmp_path, text)
    assert [(test["name"], version(test)) for test in tests] == [
        ("claim at 1.8", "placement 1.8"),
        ("read at 1.8", "placement 1.20"),
        ("claim at 1.12", "placement 1.12"),
        ("read at 1.12", "placement 1.20"),
    ]
    assert [test["data"] for test in tests[::2]] == [
        {"at": "1.8", "generation": 2},
        {"at": "1.12", "generation": 3},
    ]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("- x: GET /x\n  1.10: 200\n  1.10: 404\n", "twice"),
        (f"- x: GET /x\n  {LATEST}: 200\n  $LATEST: 404\n", "mean the same"),
        ("- x: GET /x\n  1.10: 200 cashed\n", "cashed"),
    ],
)
def test_what_would_be_lost_or_unheard_is_refused(
    tmp_path: Path, text: str, complaint: str
) -> None:
    with pytest.raises(GabbiFormatError, match=complaint):
        load(tmp_path, text)
