"""The usage of projects and users, by type of consumer."""

import sqlalchemy as sa
from sqlalchemy.sql import ColumnElement

from placement.db import tables as t
from placement.db.constructs import same_identifier, same_text
from placement.db.statement import Query


def _owner_source(
    project: str, user: str | None
) -> tuple[sa.FromClause, list[ColumnElement[bool]]]:
    consumer = t.consumers.c
    source = (
        t.consumers.join(t.projects, t.projects.c.id == consumer.project_id)
        .join(t.allocations, same_identifier(t.allocations.c.consumer_id, consumer.uuid))
        .outerjoin(t.consumer_types, t.consumer_types.c.id == consumer.consumer_type_id)
    )
    conditions: list[ColumnElement[bool]] = [same_text(t.projects.c.external_id, project)]
    if user is not None:
        source = source.join(t.users, t.users.c.id == consumer.user_id)
        conditions.append(same_text(t.users.c.external_id, user))
    return source, conditions


def amounts(project: str, user: str | None) -> Query:
    """Select (type, class, sum) for a project or for one of its users. The type may be null."""
    source, conditions = _owner_source(project, user)
    classes = t.resource_classes
    with_classes = source.join(classes, classes.c.id == t.allocations.c.resource_class_id)
    type_name, class_name = t.consumer_types.c.name, classes.c.name
    rows = sa.select(
        type_name.label("type"),
        class_name.label("class_name"),
        sa.func.sum(t.allocations.c.used).label("used"),
    ).select_from(with_classes)
    return Query(rows.where(*conditions).group_by(type_name, class_name))


def consumer_counts(project: str, user: str | None) -> Query:
    """Select (type, number of distinct consumers with allocations)."""
    source, conditions = _owner_source(project, user)
    return Query(
        sa.select(
            t.consumer_types.c.name.label("type"),
            sa.func.count(sa.distinct(t.consumers.c.uuid)).label("count"),
        )
        .select_from(source)
        .where(*conditions)
        .group_by(t.consumer_types.c.name)
    )
