"""Checked bodies become commands."""

import pytest

from placement.api.bodies import custom_name
from placement.api.operations.allocations import read_claim, read_claims
from placement.api.operations.inventories import read_record
from placement.api.operations.reshaper import read_command
from placement.errors import BadBody, BadPath
from placement.inventory import InventoryRecord
from placement.objects.unset import UNSET

HOST = "c0de0000-0000-4000-8000-000000000001"
OTHER = "c0de0000-0000-4000-8000-000000000002"
CONSUMER = "c0de0000-0000-4000-8000-0000000000aa"
OWNER = {"project_id": "p", "user_id": "u"}


@pytest.mark.parametrize("name", ["CUSTOM_A", "CUSTOM_1_B"])
def test_a_custom_name_is_taken_as_it_is(name: str) -> None:
    assert custom_name(name, "trait") == name


@pytest.mark.parametrize(
    "name", ["VCPU", "CUSTOM_", "custom_a", "CUSTOM_A\n", "CUSTOM_" + "A" * 300]
)
def test_any_other_name_is_a_bad_path(name: str) -> None:
    with pytest.raises(BadPath, match="CUSTOM_"):
        custom_name(name, "trait")


def test_what_an_inventory_leaves_out_has_its_default() -> None:
    assert read_record({"total": 5}) == InventoryRecord(total=5, allocation_ratio=1.0)


def test_whole_numbers_may_be_written_as_floats() -> None:
    stated = {"total": 5.0, "reserved": 1.0, "allocation_ratio": 2}
    record = read_record(stated)
    assert record == InventoryRecord(total=5, reserved=1, allocation_ratio=2.0)
    assert {type(record.total), type(record.reserved)} == {int}


def test_allocations_are_read_as_a_list_or_as_an_object() -> None:
    as_object = {"allocations": {HOST: {"resources": {"VCPU": 2.0}}}, **OWNER}
    item = {"resource_provider": {"uuid": HOST}, "resources": {"VCPU": 2}}
    as_list = {"allocations": [item], **OWNER}
    claims = [read_claim(CONSUMER, body) for body in (as_object, as_list)]
    assert claims[0] == claims[1]
    assert claims[0].allocations == {HOST: {"VCPU": 2}}


def test_what_a_version_could_not_say_is_unset_and_null_is_null() -> None:
    old = read_claim(CONSUMER, {"allocations": {}}, ("incomplete-p", "incomplete-u"))
    assert (old.generation, old.consumer_type) == (UNSET, UNSET)
    assert (old.project, old.user) == ("incomplete-p", "incomplete-u")
    body: dict[str, object] = {
        "allocations": {},
        **OWNER,
        "consumer_generation": None,
        "consumer_type": "INSTANCE",
    }
    new = read_claim(CONSUMER, body)
    assert (new.generation, new.consumer_type) == (None, "INSTANCE")
    assert read_claim(CONSUMER, {**body, "consumer_generation": 3.0}).generation == 3


def test_consumers_stay_in_the_order_of_the_body() -> None:
    body = {name: {"allocations": {}, **OWNER} for name in (CONSUMER, HOST, OTHER)}
    assert [claim.consumer for claim in read_claims(body)] == [CONSUMER, HOST, OTHER]


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ([HOST, HOST.upper()], "are the same UUID"),
        ([HOST, HOST.replace("-", "")], "are the same UUID"),
        (["rack"], "'rack' is not a 'uuid'"),
    ],
)
def test_keys_that_are_no_uuids_or_mean_one_are_refused_where_they_stand(
    keys: list[str], words: str
) -> None:
    allocations = {"allocations": {key: {"resources": {"VCPU": 1}} for key in keys}, **OWNER}
    with pytest.raises(BadBody, match=f"^allocations: .*{words}"):
        read_claim(CONSUMER, allocations)
    with pytest.raises(BadBody, match=f"^{CONSUMER}.allocations: .*{words}"):
        read_claims({CONSUMER: allocations})
    with pytest.raises(BadBody, match=f"^body: .*{words}"):
        read_claims(dict.fromkeys(keys, allocations))
    shape = {"resource_provider_generation": 0, "inventories": {}}
    with pytest.raises(BadBody, match=f"^inventories: .*{words}"):
        read_command({"inventories": dict.fromkeys(keys, shape), "allocations": {}})


def test_a_reshape_has_shapes_and_claims() -> None:
    shape = {"resource_provider_generation": 2.0, "inventories": {"VCPU": {"total": 4}}}
    body = {
        "inventories": {HOST: shape},
        "allocations": {CONSUMER: {"allocations": {}, **OWNER, "consumer_generation": 1}},
    }
    reshape = read_command(body)
    assert reshape.inventories[HOST].generation == 2
    assert reshape.inventories[HOST].records == {"VCPU": InventoryRecord(total=4)}
    assert [claim.consumer for claim in reshape.claims] == [CONSUMER]
