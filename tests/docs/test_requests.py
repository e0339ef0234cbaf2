"""The service accepts the conditions on the page about the request language."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import pytest

from falcon_placement_client.flavors import request_of_flavor
from falcon_placement_client.query import pairs_of
from placement.api.candidate_requests import schema as candidates
from placement.api.candidate_requests.json_form import read_alternatives
from placement.api.candidate_requests.query_form import parse_candidates
from placement.api.history import v
from placement.api.operations import provider_trees
from placement.api.operations.provider_trees import read_tree

PAGE = (Path(__file__).parents[2] / "docs" / "requests.rst").read_text()
NEWEST = v("2.0")
# Of the groups that rows join, for which they need not ask themselves.
SUFFIXES = ("", "_A", "_B", "_C", "_D", "_CPU", "_GPU", "_NIC", "_SPARE")


def rows(heading: str) -> list[list[str]]:
    """The literal texts in each row of the first table after a heading."""
    table = PAGE.split(f"\n{heading}\n", 1)[1].split(".. list-table::", 1)[1].split("\n\n\n")[0]
    table = re.split(r"\n\S", table)[0]
    return [re.findall(r"``(.+?)``", row) for row in re.split(r"\n   \* - ", table)[2:]]


@pytest.mark.parametrize("row", rows("As a flavor"), ids=lambda row: row[0])
def test_a_flavor_equals_the_query_next_to_it(row: list[str]) -> None:
    keys, query = row
    own = {} if "resources" in query else {f"resources{suffix}:VCPU": "1" for suffix in SUFFIXES}
    flavor = own | dict(pair.split("=", 1) for pair in keys.split())
    assert set(parse_qsl(query)) <= set(pairs_of(request_of_flavor(flavor)))


def body_below(heading: str) -> Any:
    """Return the JSON of the first block after a heading."""
    section = PAGE.split(f"\n{heading}\n", 1)[1]
    block = re.search(r"\.\. code-block:: json\n\n((?:   .*\n|\n)+)", section)
    assert block is not None
    return json.loads(block[1])


def test_the_alternatives_as_json_are_understood() -> None:
    body = body_below("Alternatives")
    candidates.FIND.at(NEWEST).check(body)
    assert len(read_alternatives(body)) == len(body["first_available"])


def test_the_tree_as_json_is_understood() -> None:
    body = body_below("Whole trees")
    provider_trees.PUT.at(NEWEST).check(body)
    root, child = read_tree(body["providers"][0]["uuid"], body).providers
    assert child.parent_uuid == root.uuid


@pytest.mark.parametrize("query", [row[0] for row in rows("At a glance") if "=" in row[0]])
def test_a_query_at_a_glance_is_understood(query: str) -> None:
    pairs = parse_qsl(query.replace("UUID", "5ca1ab1e-0000-4000-8000-00000000000a"))
    own = [] if "resources" in query else [(f"resources{suffix}", "VCPU:1") for suffix in SUFFIXES]
    parse_candidates([*own, *pairs], NEWEST)
