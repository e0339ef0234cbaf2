"""Words and limits of the API that several layers share."""

from enum import Enum
from typing import NamedTuple

from falcon_placement_client.vocabulary import (
    CUSTOM_PREFIX,
    MAX_INTEGER,
    SHARING_TRAIT,
    UNKNOWN_CONSUMER_TYPE,
)

__all__ = [
    "CUSTOM_PREFIX",
    "FIRST_GENERATION",
    "INVENTORY_AMOUNTS",
    "MAX_INTEGER",
    "SHARING_TRAIT",
    "UNKNOWN_CONSUMER_TYPE",
    "ConditionKind",
    "IdCondition",
]

INVENTORY_AMOUNTS = ("total", "reserved", "min_unit", "max_unit", "step_size")
FIRST_GENERATION = 1  # of a consumer


class ConditionKind(Enum):
    """What a condition on a provider compares, where names have become ids."""

    ANY_TRAIT = "any trait"
    NO_TRAIT = "no trait"
    ANY_AGGREGATE = "any aggregate"
    NO_AGGREGATE = "no aggregate"
    TREE = "tree"  # the id of its root
    SUBTREE = "subtree"  # the forms in which rows may hold the UUID of the provider at its top


class IdCondition(NamedTuple):
    """A condition on a provider as the database judges it."""

    kind: ConditionKind
    # What it compares with: ids, or texts as rows hold them.
    ids: frozenset[int] | frozenset[str]
