"""The typed form of a request has the members that the service takes."""

from __future__ import annotations

from typing import Any, get_args

import pytest

from falcon_placement_client import (
    JsonAddedHosts,
    JsonChange,
    JsonFirstAvailable,
    JsonGroup,
    JsonHeadroom,
    JsonOrderKey,
    JsonRequest,
    JsonRoot,
    JsonSimulatedClaim,
    JsonSimulation,
    JsonSubtreeRule,
)
from placement.api.candidate_requests.schema import EXPLAIN, FIND, GROUP
from placement.api.history import v
from placement.api.operations.headroom import HEADROOM_REQUESTS
from placement.api.operations.simulations import CHANGE, RUN

BODY, FIRST_AVAILABLE = [form["properties"] for form in FIND.at(v("2.0")).schema["oneOf"]]


@pytest.mark.parametrize(
    ("form", "members"),
    [
        (JsonRequest, BODY),
        (JsonFirstAvailable, FIRST_AVAILABLE),
        (JsonGroup, GROUP["properties"]),
        (JsonRoot, BODY["root"]["properties"]),
        (JsonSubtreeRule, BODY["same_subtree"]["items"]["properties"]),
        (JsonOrderKey, BODY["order"]["items"]["properties"]),
        (JsonSimulation, RUN.at(v("2.0")).schema["properties"]),
        (JsonChange, CHANGE["properties"]),
        (JsonHeadroom, HEADROOM_REQUESTS["properties"]),
        (JsonAddedHosts, CHANGE["properties"]["add"]["properties"]),
        (JsonSimulatedClaim, CHANGE["properties"]["claim"]["properties"]),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_form_has_each_member_of_the_schema(form: Any, members: dict[str, Any]) -> None:
    assert form.__annotations__.keys() == members.keys()


def test_only_groups_have_to_be_stated() -> None:
    assert JsonRequest.__required_keys__ == {"groups"}


def test_words_equal_the_schema() -> None:
    schemas: dict[str, Any] = {"explain": EXPLAIN, "group_policy": BODY["group_policy"]}
    for member, schema in schemas.items():
        assert schema["enum"] == list(get_args(JsonRequest.__annotations__[member]))
