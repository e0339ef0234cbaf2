"""The usage of projects and users, by type of consumer."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from sqlalchemy.engine import Connection

from placement.db.statements import usages as statements
from placement.objects.claim_records import sum_by_class
from placement.vocabulary import UNKNOWN_CONSUMER_TYPE

ALL = "all"


@dataclass(slots=True)
class Usage:
    """The usage of a group of consumers."""

    consumer_count: int = 0
    # Allocated amounts by resource class.
    amounts: dict[str, int] = field(default_factory=dict)


def get_for_project(
    conn: Connection, project: str, user: str | None, consumer_type: str | None
) -> Mapping[str, Usage]:
    """Return type -> usage of a project, or of one of its users.

    Types without consumers are omitted.

    Args:
        user: the user, or None for all.
        consumer_type: only this type, or None for all types, ALL for one total under that name,
            UNKNOWN_CONSUMER_TYPE for consumers without a type.
    """
    # Both statements read the same snapshot, in which every consumer has allocations. Therefore,
    # the second statement does not return any other types.
    by_type: dict[str, Usage] = {}
    for type_name, class_name, used in statements.amounts(project, user).rows(conn):
        usage = by_type.setdefault(_shown_type(type_name), Usage())
        usage.amounts[class_name] = int(used)
    for type_name, count in statements.consumer_counts(project, user).rows(conn):
        by_type[_shown_type(type_name)].consumer_count = count
    if consumer_type is None:
        return by_type
    if consumer_type == ALL:
        return {ALL: total(by_type)} if by_type else {}
    return {name: usage for name, usage in by_type.items() if name == consumer_type}


def total(by_type: Mapping[str, Usage]) -> Usage:
    usages = by_type.values()
    amounts = sum_by_class(usage.amounts for usage in usages)
    return Usage(sum(usage.consumer_count for usage in usages), amounts)


def _shown_type(name: str | None) -> str:
    return UNKNOWN_CONSUMER_TYPE if name is None else name
