"""Arguments for every function of `db.statements`, with which its SQL is generated."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from placement.db.conditions import (
    Driver,
    DrivingCondition,
    MemberCondition,
    ProviderCondition,
    RootCondition,
)
from placement.db.statement import Query, Writes
from placement.db.statements import (
    changes,
    claim_records,
    derived,
    integrity,
    provider_trees,
    providers,
    root_windows,
    sharing,
)
from placement.db.statements.consumer_list import ConsumerFilter
from placement.db.statements.provider_list import MAX_JOINED
from placement.vocabulary import ConditionKind, IdCondition

UUID = "c0ffee00-0000-4000-8000-000000000000"
ROW = {"resource_provider_id": 1, "resource_class_id": 0}
AMOUNTS = {
    "total": 8,
    "reserved": 0,
    "min_unit": 1,
    "max_unit": 8,
    "step_size": 1,
    "allocation_ratio": 1.0,
    "capacity": 8,
}
FEED = {
    "position": 3,
    "token": 4,
    "numbered_at": 5,
    "revision_sum": 1,
}
OWNER = {"project_id": 1, "user_id": 1, "consumer_type_id": None}


def _any_trait(*ids: int) -> IdCondition:
    return IdCondition(ConditionKind.ANY_TRAIT, frozenset(ids))


def _no_trait(*ids: int) -> IdCondition:
    return IdCondition(ConditionKind.NO_TRAIT, frozenset(ids))


def _any_aggregate(*ids: int) -> IdCondition:
    return IdCondition(ConditionKind.ANY_AGGREGATE, frozenset(ids))


def _no_aggregate(*ids: int) -> IdCondition:
    return IdCondition(ConditionKind.NO_AGGREGATE, frozenset(ids))


IN_TREE = IdCondition(ConditionKind.TREE, frozenset({1}))
WITH_ROOM = MemberCondition(resources=((0, 1), (1, 64)))
SUFFIXED = MemberCondition(
    (_any_trait(1), _any_trait(2, 3), _no_trait(4), _any_aggregate(5), _no_aggregate(6)),
    resources=((2, 1),),
)
UNSUFFIXED = MemberCondition((_any_aggregate(5),))
REACHING = MemberCondition(resources=((2, 1),), reach=frozenset({7}))


# function -> its arguments, where one example says all
ARGUMENTS: Mapping[str, Sequence[Any]] = {
    "allocation_state.state": ({"resource_class": ["VCPU"], "project": ["p"]}, [UUID], [UUID]),
    "allocations.consumers_in_tree": (UUID,),
    "allocations.consumers_in_trees": ([1, 2],),
    "allocations.held": ([UUID],),
    "allocations.create": ([{"consumer_id": UUID, **ROW, "used": 1}],),
    "allocations.create_consumers": ([{"uuid": UUID, **OWNER}],),
    "allocations.delete": ([1],),
    "allocations.delete_consumers": ({1: 3},),
    "allocations.on_provider": (1,),
    "allocations.show": ([UUID],),
    "allocations.update_consumers": ({1: {**OWNER, "generation": 3}},),
    "associations.traits_of": (1,),
    "audit.consumers": (0, 10_000),
    "audit.crowded_hosts": (),
    "audit.empty_projects": (),
    "audit.hosts_without_nova": (),
    "audit.on_several_trees": (),
    "audit.over_capacity": (),
    "change_numbering.changed": (1000,),
    "change_numbering.delete_all": (3, 2),
    "change_numbering.delete_batches": ([1, 2],),
    "change_numbering.delete_known": ([1],),
    "change_numbering.delete_tombstones": ([UUID],),
    "change_numbering.gone": (1000,),
    "change_numbering.insert_batch": (3, 4, 5),
    "change_numbering.insert_changed": ([1, 2], 3),
    "change_numbering.insert_deleted": ([UUID], 3),
    "change_numbering.insert_feed": (FEED,),
    "change_numbering.insert_roots": (0,),
    "change_numbering.known_sum": (),
    "change_numbering.old_tombstones": (3,),
    "change_numbering.oldest_batches": (),
    "change_numbering.roots": ([UUID],),
    "change_numbering.sizes": (),
    "change_numbering.tombstones": ([UUID],),
    "change_numbering.update_feed": (FEED,),
    "changes.clock": (),
    "changes.page": (3, 9, 1001),
    "changes.state": (),
    "changes.token": (3,),
    "claim_records.before_creation": ([UUID], [UUID], ["web"], True),
    "claim_records.clear_holds": ({1: 2},),
    "claim_records.create": (
        [
            {
                "consumer_id": 1,
                "consumer_uuid": UUID,
                "project_id": 1,
                "consumer_created_at": None,
                "spread_group": "web",
                "max_per_host": 1,
                "hold_generation": 1,
                "held_since": 1,
                "expires_at": 2,
                "mappings": "{}",
                "request": "{}",
            }
        ],
    ),
    "claim_records.delete": ({1: 2},),
    "claim_records.expired": (100,),
    "claim_records.for_consumers": ([UUID],),
    "claim_records.update": (1, {"spread_group": "web", "max_per_host": 3}),
    "claim_records.leave_groups": ([1],),
    "claim_records.lock_consumers": ([UUID],),
    "claim_records.members": (),
    "claim_records.without_consumer": (1000,),
    "claim_records.without_consumer_of": ([1],),
    "consumer_list.page": (
        ConsumerFilter(
            uuids=[UUID],
            project="p",
            user="u",
            consumer_type="INSTANCE",
            in_tree=[UUID],
            spread_group="web",
            held=True,
        ),
        UUID,
        1000,
    ),
    "cards.use": (["CUSTOM_CARD"],),
    "cards.use_in_trees": (["CUSTOM_CARD"], [1, 2]),
    "derived.capacities": ([1, 2],),
    "derived.distinct_capacities": ([1, 2],),
    "derived.number_of_roots": (),
    "derived.set_column": ("used", {1: 2}),
    "derived.roots_without_revision": (),
    "derived.wrong_used": ([1, 2],),
    "integrity.allocations_without_inventory": (),
    "integrity.detach": ([1],),
    "integrity.forest": (0, 1000),
    "integrity.idle_consumers": (),
    "integrity.inventories_of_unknown_class": (),
    "integrity.numbered_inventories": ([1],),
    "integrity.positions": ([1],),
    "integrity.record_consumers": ([UUID], 1, 1),
    "integrity.rootless": (1000,),
    "integrity.set_roots": ({1: 2},),
    "integrity.ended_holds": (),
    "integrity.records_without_consumer": (),
    "integrity.shape": (),
    "integrity.unowned_consumers": (),
    "integrity.unrecorded_among": ([UUID],),
    "integrity.unrecorded_consumers": (),
    "inventories.create": ([{**ROW, **AMOUNTS}],),
    "inventories.create_unused": ([{**ROW, **AMOUNTS}],),
    "inventories.delete_unused": ([1],),
    "allocations.everywhere": (),
    "inventories.everywhere": (),
    "inventories.take": ({(1, 0): (2, 1, 1, 1), (1, 2): (64, 64, 64, 64)},),
    "inventories.for_providers": ([1],),
    "inventories.update": ({1: AMOUNTS},),
    "locks.renew_revisions": ([1], 2),
    "locks.revisions": ([1],),
    "names.add": ("resource_class", [{"id": 10000, "name": "CUSTOM_A"}]),
    "names.add_unless_present": ("aggregate", [UUID]),
    "names.all_names": ("trait",),
    "names.change_id": ("resource_class", -1, 0),
    "names.ids": ({"resource_class": ["VCPU"]},),
    "names.lock_exclusive": ("resource_class", "CUSTOM_A"),
    "names.lock_shared": ("resource_class", [10000]),
    "names.newest": ("resource_class",),
    "names.rename_resource_class": ("CUSTOM_A", "CUSTOM_B"),
    "provider_parts.aggregates": ([1],),
    "provider_parts.allocations": ([1],),
    "provider_parts.inventories": ([1],),
    "provider_parts.trait_ids": ([1],),
    "provider_list.listed_with_ids": (ProviderCondition(), [1]),
    "provider_trees.aggregate_ids": ([1],),
    "provider_trees.create": ([(UUID, "host", 1, 2)], 1),
    "provider_trees.in_use": ([1],),
    "provider_trees.members": ([UUID],),
    "provider_trees.members_and_others": ([UUID], [UUID], ["host"]),
    "provider_trees.move": ({1: 2},),
    "provider_trees.rename": ({1: "host"},),
    "provider_trees.with_uuid_or_name": ([UUID], "host"),
    "providers.bump_generations": ({1: 1, 2: 1, 3: 2}, {1: 4, 2: 0}),
    "providers.create": (UUID, "host", None, None, 1),
    "providers.ids": ([UUID],),
    "providers.members_of_tree": (1,),
    "providers.consumers_of": ([1, 2],),
    "providers.roots_using_class": (10000,),
    "providers.set_root": ([1], 1),
    "providers.with_all_fields": ([UUID],),
    "revisions.for_providers": ([UUID],),
    "revisions.sums": (),
    "root_windows.blocks": (),
    "root_windows.next_roots": (0, 1000),
    "root_windows.outermost_roots": (),
    "provider_snapshots.with_aggregates": ([UUID], [UUID]),
    "provider_snapshots.with_dependants": ([UUID],),
    "provider_snapshots.with_inventories": ([UUID], ["VCPU"]),
    "provider_snapshots.with_traits": ([UUID], ["CUSTOM_A"]),
    "sharing.memberships": (),
    "sharing.others": (1, 100),
    "sharing.reached_sets": ([1, 2], RootCondition((_any_trait(1),))),
    "trees.members": ([1],),
    "trees.trait_names": ([1],),
}

# function -> what is particular -> its arguments
VARIANTS: Mapping[str, Mapping[str, Sequence[Any]]] = {
    "associations.add": {kind: (kind, {(1, 2)}) for kind in ("trait", "aggregate")},
    "associations.remove": {
        "traits of a provider": ("trait", {(1, 2), (1, 3)}),
        "aggregates of several": ("aggregate", {(1, 2), (3, 4)}),
    },
    "integrity.delete_lost": {
        "inventories": ("inventories", [(1, 77, 0, 8)]),
        "traits": ("traits", [(7, 1), (8, 1)]),
    },
    "integrity.lost_among": {"traits": ("traits", [(7, 1)])},
    "integrity.lost": {
        kind: (kind,) for kind in ("inventories", "allocations", "traits", "aggregates")
    },
    "inventories.move_used": {
        "of what somebody gets": ({1: (2, 1, 2, 1), 3: (-4, 9, 0, 0)},),
        "of new claims": ({1: (2, 1, 2, 1), 3: (4, 4, 4, 4)},),
        "of what is given back": ({1: (-2, 9, 0, 0), 3: (-4, 9, 0, 0)},),
    },
    "locks.renew_and_bump": {
        "a tree, and a provider in it": ({1: 7}, [1, 3], 2, {}),
        "a root and its generation, as it was read": ({1: 7}, [1], 2, {1: 4}),
        "a root": ({1: 7}, [], 2, {}),
        "a tree, and providers in shared ones": (
            {1: 7},
            [1, 4, 6],
            2,
            {},
            {4: (UUID, 4), 6: (UUID, 5)},
        ),
    },
    "locks.renew_where_seen": {
        "with generations": ({1: 1, 3: 1, 5: 4}, [1, 3], 2),
        "without": ({1: 1, 3: 1, 5: 4}, [], 2),
    },
    "names.entries_with_times": {
        "of one name": ("trait", ["CUSTOM_A"]),
        "with a prefix": ("trait", None, "CUSTOM_"),
        "that providers have": ("trait", None, None, True),
        "of which there is no inventory": ("resource_class", None, None, False),
    },
    "names.delete_unused": {
        "of traits": ("trait", "CUSTOM_A"),
        "of classes": ("resource_class", "CUSTOM_A"),
    },
    "names.with_trees": {
        "of names and a provider": ({"resource_class": ["VCPU"], "project": ["p"]}, [UUID]),
        "of a request for candidates": (
            {"resource_class": ["VCPU"], "trait": ["CUSTOM_A"], "aggregate": [UUID]},
            [UUID],
            [sharing.FIRST_PROVIDERS],
        ),
        "of each further kind": (
            {"user": ["u"]},
            [UUID],
            [root_windows.FIRST_ROOTS, claim_records.MEMBERS_BY_HOST, provider_trees.NAMED],
            {claim_records.PROJECT: "p", claim_records.GROUP: "web", "names": ["host"]},
        ),
    },
    "provider_list.listed": {
        "all": (ProviderCondition(),),
        "by name and uuid": (ProviderCondition(name="host", uuids=frozenset({UUID})),),
        "by tree, traits, aggregates and room": (
            ProviderCondition(
                (
                    IN_TREE,
                    _any_trait(1),
                    _any_trait(2),
                    _no_trait(4),
                    _any_aggregate(3),
                    _no_aggregate(5),
                ),
                resources=((0, 1),),
            ),
        ),
        "by more conditions than are joined": (
            ProviderCondition(tuple(_any_aggregate(each) for each in range(MAX_JOINED + 1))),
        ),
    },
    "provider_list.revisions": {
        "all": (ProviderCondition(),),
        "with room": (ProviderCondition(resources=((0, 1),)),),
    },
    "provider_list.page": {
        "after one": (ProviderCondition(), UUID, 1000),
        "by tree": (ProviderCondition((IN_TREE,)), "", 1000),
    },
    "roots.driven_roots": {
        f"beginning with {driver.value}": (0, (DrivingCondition(condition, driver),))
        for driver, condition in (
            (Driver.TREE, MemberCondition((IN_TREE,), resources=((0, 1),))),
            (Driver.AGGREGATES, replace(UNSUFFIXED, terms=(_any_aggregate(5), _any_aggregate(7)))),
            (Driver.TRAITS, SUFFIXED),
            (Driver.RESOURCES, WITH_ROOM),
            (Driver.PARTS, MemberCondition(parts_of=(0,))),
        )
    }
    | {
        "with room for one of two": (
            0,
            tuple(DrivingCondition(each, Driver.RESOURCES) for each in (WITH_ROOM, REACHING)),
        )
    },
    "usages.amounts": {"of a project": ("p", None), "of a user": ("p", "u")},
    "usages.consumer_counts": {"of a project": ("p", None), "of a user": ("p", "u")},
}

# function -> what is particular -> the statement, where arguments are made by other functions
BUILT: Mapping[str, Mapping[str, Callable[[], Query | Writes]]] = {
    "changes.feed": {"as it is": changes.feed, "with its lock": lambda: changes.feed(lock=True)},
    "derived.roots": {
        "as they are": lambda: derived.roots(0, 100),
        "with their locks": lambda: derived.roots(0, 100, lock=True),
    },
    "integrity.count": {"of others": lambda: integrity.count(derived.roots_without_revision())},
    "integrity.examples": {
        "of others": lambda: integrity.examples(derived.roots_without_revision(), 3)
    },
    "providers.delete": {
        "a root with something of each": lambda: providers.delete(
            {1: {"inventories": 1, "traits": 1, "aggregates": 1}}, is_root=True
        ),
        "providers below": lambda: providers.delete(
            {
                1: {"inventories": 0, "traits": 0, "aggregates": 0},
                2: {"inventories": 3, "traits": 0, "aggregates": 0},
            }
        ),
    },
}
