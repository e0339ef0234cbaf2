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
    """What a condition on a provider compares, after names were translated to ids."""

    ANY_TRAIT = "any trait"
    NO_TRAIT = "no trait"
    ANY_AGGREGATE = "any aggregate"
    NO_AGGREGATE = "no aggregate"
    # By the id of its root.
    TREE = "tree"
    # By the spellings of the UUID of its top provider that rows may have.
    SUBTREE = "subtree"


class IdCondition(NamedTuple):
    """A condition on a provider in the form that the database evaluates."""

    # What is compared.
    kind: ConditionKind
    # The values that it is compared with: ids, or texts as stored in rows.
    ids: frozenset[int] | frozenset[str]
