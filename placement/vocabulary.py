"""Names and limits of the API that several layers share."""

from enum import Enum
from typing import NamedTuple

from falcon_placement_client.vocabulary import (
    CUSTOM_PREFIX,
    MAX_INTEGER,
    SHARING_TRAIT,
    UNKNOWN_CONSUMER_TYPE,
    is_custom_name,
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
    "is_custom_name",
]

INVENTORY_AMOUNTS = ("total", "reserved", "min_unit", "max_unit", "step_size")
FIRST_GENERATION = 1  # of a consumer


class ConditionKind(Enum):
    """The kind of a condition on a provider, after names have been translated to ids."""

    ANY_TRAIT = "any trait"
    NO_TRAIT = "no trait"
    ANY_AGGREGATE = "any aggregate"
    NO_AGGREGATE = "no aggregate"
    # The id of its root is compared.
    TREE = "tree"
    # The stored spellings of the UUID of the top provider of the subtree are compared.
    SUBTREE = "subtree"


class IdCondition(NamedTuple):
    """A condition on a provider in the form that the database evaluates."""

    # The kind of the comparison.
    kind: ConditionKind
    # The values of the comparison: ids, or texts as stored in rows.
    ids: frozenset[int] | frozenset[str]
