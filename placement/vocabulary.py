"""Names and limits of the API that several layers share."""

import re
from enum import Enum
from typing import NamedTuple

MAX_INTEGER = 2**31 - 1  # largest amount in a request, which a column can still store
TOO_MUCH = 10**18  # more than the providers of a tree can have together; replaces larger amounts
CUSTOM_PREFIX = "CUSTOM_"  # prefix of the resource classes and traits that clients may create
UNKNOWN_CONSUMER_TYPE = "unknown"  # value in responses for consumers without a type
MAX_NAME = 255  # characters of the name of a resource class or trait
SHARING_TRAIT = "MISC_SHARES_VIA_AGGREGATE"  # trait of providers that other trees may use
# Trait of hosts with nova-compute. nova 2026.2 requests it if all of its computes are new.
NOVA_TRAIT = "OWNER_NOVA"
INVENTORY_AMOUNTS = ("total", "reserved", "min_unit", "max_unit", "step_size")
FIRST_GENERATION = 1  # of a consumer
# Classes that only hosts have. A tree that only shares other classes is no host.
HOST_CLASSES = frozenset({"VCPU", "PCPU", "MEMORY_MB"})

_CUSTOM_NAME = re.compile(rf"{CUSTOM_PREFIX}[A-Z0-9_]+")


def is_custom_name(text: str) -> bool:
    """Return whether a custom resource class or trait may have this name."""
    return len(text) <= MAX_NAME and _CUSTOM_NAME.fullmatch(text) is not None


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

    kind: ConditionKind
    # The values of the comparison: ids, or texts as stored in rows.
    ids: frozenset[int] | frozenset[str]
