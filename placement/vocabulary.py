"""Words and limits of the API that several layers share."""

from enum import Enum
from typing import NamedTuple

MAX_INTEGER = 2**31 - 1  # the largest amount that a client may state and a column holds
CUSTOM_PREFIX = "CUSTOM_"  # of the names of resource classes and traits that clients may make
UNKNOWN_CONSUMER_TYPE = "unknown"  # what answers call the type of consumers that have none
INVENTORY_AMOUNTS = ("total", "reserved", "min_unit", "max_unit", "step_size")
FIRST_GENERATION = 1  # of a consumer
SHARING_TRAIT = "MISC_SHARES_VIA_AGGREGATE"  # of providers that serve other trees


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
