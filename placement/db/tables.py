"""The tables of existing deployments, with three additional columns and an index, and new tables.

The columns are `inventories.used` (sum of the allocations of that provider and class),
`inventories.capacity` ((total - reserved) * allocation_ratio as an integer) and
`resource_providers.revision` (on root rows: a random number, renewed with every change in the
tree). They have server defaults, so that software that does not use them can insert rows.

Only this service uses the table `claim_records`. Other software ignores it, so the table has no
foreign keys, and each row identifies the consumer to which it belongs. The tables of changes
(`objects/changes.py`) have no foreign keys either.
"""

from collections.abc import Mapping
from datetime import UTC, datetime

import sqlalchemy as sa
from sqlalchemy.dialects import mysql

metadata = sa.MetaData(
    naming_convention={
        "ix": "%(table_name)s_%(column_0_N_name)s_idx",
        "uq": "uniq_%(table_name)s0%(column_0_N_name)s",
        "fk": "%(table_name)s_%(column_0_name)s_fkey",
    }
)


def now() -> datetime:
    """Return the current time for a row, in UTC, without a time zone, and in whole seconds."""
    return datetime.now(UTC).replace(tzinfo=None, microsecond=0)


def _table(name: str, *items: sa.schema.SchemaItem) -> sa.Table:
    times = sa.Column("created_at", sa.DateTime), sa.Column("updated_at", sa.DateTime)
    return _undated_table(name, *times, *items)


def _undated_table(name: str, *items: sa.schema.SchemaItem) -> sa.Table:
    return sa.Table(name, metadata, *items, mysql_engine="InnoDB", mysql_charset="utf8mb3")


def _id(autoincrement: bool = True) -> sa.Column[int]:
    return sa.Column("id", sa.Integer, primary_key=True, autoincrement=autoincrement)


# Indexes that statements name: of the members of a tree, and of the inventories of a provider.
MEMBERS_INDEX = "resource_providers_root_provider_id_idx"
STOCKS_INDEX = "uniq_inventories0resource_provider_resource_class"

resource_providers = _table(
    "resource_providers",
    _id(),
    sa.Column("uuid", sa.String(36), nullable=False),
    sa.Column("name", sa.Unicode(200)),
    sa.Column("generation", sa.Integer),
    sa.Column("root_provider_id", sa.Integer, sa.ForeignKey("resource_providers.id")),
    sa.Column("parent_provider_id", sa.Integer, sa.ForeignKey("resource_providers.id")),
    sa.Column("revision", sa.BigInteger, nullable=False, server_default="0"),
    sa.UniqueConstraint("uuid", name="uniq_resource_providers0uuid"),
    sa.UniqueConstraint("name", name="uniq_resource_providers0name"),
    sa.Index(MEMBERS_INDEX, "root_provider_id"),
    sa.Index("resource_providers_parent_provider_id_idx", "parent_provider_id"),
)

inventories = _table(
    "inventories",
    _id(),
    sa.Column("resource_provider_id", sa.Integer, nullable=False),
    sa.Column("resource_class_id", sa.Integer, nullable=False),
    sa.Column("total", sa.Integer, nullable=False),
    sa.Column("reserved", sa.Integer, nullable=False),
    sa.Column("min_unit", sa.Integer, nullable=False),
    sa.Column("max_unit", sa.Integer, nullable=False),
    sa.Column("step_size", sa.Integer, nullable=False),
    sa.Column("allocation_ratio", sa.Float, nullable=False),
    sa.Column("used", sa.BigInteger, nullable=False, server_default="0"),
    sa.Column("capacity", sa.BigInteger, nullable=False, server_default="0"),
    sa.UniqueConstraint("resource_provider_id", "resource_class_id", name=STOCKS_INDEX),
    sa.Index("inventories_resource_class_id_idx", "resource_class_id"),
    sa.Index("inventories_resource_class_max_unit_idx", "resource_class_id", "max_unit"),
)

allocations = _table(
    "allocations",
    _id(),
    sa.Column("resource_provider_id", sa.Integer, nullable=False),
    sa.Column("consumer_id", sa.String(36), nullable=False),
    sa.Column("resource_class_id", sa.Integer, nullable=False),
    sa.Column("used", sa.Integer, nullable=False),
    sa.Index(
        "allocations_resource_provider_class_used_idx",
        "resource_provider_id",
        "resource_class_id",
        "used",
    ),
    sa.Index("allocations_resource_class_id_idx", "resource_class_id"),
    sa.Index("allocations_consumer_id_idx", "consumer_id"),
)

consumer_types = _table(
    "consumer_types",
    _id(),
    sa.Column("name", sa.Unicode(255), nullable=False),
    sa.UniqueConstraint("name", name="uniq_consumer_types0name"),
)

consumers = _table(
    "consumers",
    _id(),
    sa.Column("uuid", sa.String(36), nullable=False),
    sa.Column("project_id", sa.Integer, nullable=False),
    sa.Column("user_id", sa.Integer, nullable=False),
    sa.Column("generation", sa.Integer, nullable=False, server_default="0"),
    sa.Column("consumer_type_id", sa.Integer, sa.ForeignKey("consumer_types.id")),
    sa.UniqueConstraint("uuid", name="uniq_consumers0uuid"),
    sa.Index("consumers_project_id_uuid_idx", "project_id", "uuid"),
    sa.Index("consumers_project_id_user_id_uuid_idx", "project_id", "user_id", "uuid"),
    sa.Index("consumers_consumer_type_id_idx", "consumer_type_id"),
)

projects = _table(
    "projects",
    _id(),
    sa.Column("external_id", sa.String(255), nullable=False),
    sa.UniqueConstraint("external_id", name="uniq_projects0external_id"),
)

users = _table(
    "users",
    _id(),
    sa.Column("external_id", sa.String(255), nullable=False),
    sa.UniqueConstraint("external_id", name="uniq_users0external_id"),
)

# Ids of classes are not generated. The id of a standard class is its position in the list of
# standard classes, starting at 0. Custom classes have ids from 10000 on.
resource_classes = _table(
    "resource_classes",
    _id(autoincrement=False),
    sa.Column("name", sa.String(255), nullable=False),
    sa.UniqueConstraint("name", name="uniq_resource_classes0name"),
)

traits = _table(
    "traits",
    _id(),
    sa.Column("name", sa.Unicode(255), nullable=False),
    sa.UniqueConstraint("name", name="uniq_traits0name"),
)

resource_provider_traits = _table(
    "resource_provider_traits",
    sa.Column("trait_id", sa.Integer, sa.ForeignKey("traits.id"), primary_key=True),
    sa.Column(
        "resource_provider_id", sa.Integer, sa.ForeignKey("resource_providers.id"), primary_key=True
    ),
    sa.Index(
        "resource_provider_traits_resource_provider_trait_idx", "resource_provider_id", "trait_id"
    ),
)

placement_aggregates = _table(
    "placement_aggregates",
    _id(),
    sa.Column("uuid", sa.String(36), nullable=False),
    sa.UniqueConstraint("uuid", name="uniq_placement_aggregates0uuid"),
)

resource_provider_aggregates = _table(
    "resource_provider_aggregates",
    sa.Column("resource_provider_id", sa.Integer, primary_key=True),
    sa.Column("aggregate_id", sa.Integer, primary_key=True),
    sa.Index("resource_provider_aggregates_aggregate_id_idx", "aggregate_id"),
)

# Replaces an unknown time of creation of a consumer in a very old database.
UNDATED = datetime(1970, 1, 1)


def _ascii(length: int) -> sa.types.TypeEngine[str]:
    """Return the type of ASCII texts. Every engine compares these texts byte by byte."""
    of_mysql = mysql.VARCHAR(length, charset="ascii", collation="ascii_bin")
    return sa.String(length).with_variant(of_mysql, "mysql", "mariadb")


def _json() -> sa.types.TypeEngine[str]:
    """Return the type of JSON texts, in ASCII."""
    return sa.Text().with_variant(mysql.MEDIUMTEXT(), "mysql", "mariadb")


# The parts of claims that allocations do not contain. There is one row for each consumer that has a
# hold, a spread group or a stored request.
claim_records = _table(
    "claim_records",
    _id(),
    # Id of the consumer's row. If a record matches no consumer, it is ignored.
    sa.Column("consumer_id", sa.Integer, nullable=False),
    sa.Column("consumer_uuid", _ascii(36), nullable=False),
    # `consumers.created_at`, or UNDATED.
    sa.Column("consumer_created_at", sa.DateTime, nullable=False),
    # The consumer's project at the time of the claim.
    sa.Column("project_id", sa.Integer, nullable=False),
    # Name of the spread group, and maximum number of its members on one host. Null without a group.
    sa.Column("spread_group", _ascii(64)),
    sa.Column("max_per_host", sa.Integer),
    # Generation at which the consumer is a hold. Null without a hold.
    sa.Column("hold_generation", sa.Integer),
    # Begin and end of the hold in seconds since 1970. Null without a hold.
    sa.Column("held_since", sa.BigInteger),
    sa.Column("expires_at", sa.BigInteger),
    # `mappings` of the candidate of the hold.
    sa.Column("mappings", _json()),
    # The stored request.
    sa.Column("request", _json()),
    sa.UniqueConstraint(
        "consumer_id", "consumer_uuid", "consumer_created_at", name="uniq_claim_records0consumer"
    ),
    sa.Index("claim_records_project_group_idx", "project_id", "spread_group"),
    sa.Index("claim_records_expires_at_idx", "expires_at"),
)

# The numbered state of each tree that exists or has been deleted.
tree_changes = _undated_table(
    "tree_changes",
    # The id of the root, or 0 for a deleted tree.
    sa.Column("provider_id", sa.Integer, primary_key=True, autoincrement=False),
    # The UUID of the root.
    sa.Column("uuid", _ascii(36), primary_key=True),
    # The revision of the tree when it was numbered, or 0 for a deleted tree.
    sa.Column("revision", sa.BigInteger, nullable=False),
    # The number of the last change.
    sa.Column("position", sa.BigInteger, nullable=False),
    sa.Index("tree_changes_position_idx", "position"),
)

# The numberings. Each has a random token that identifies it in cursors.
change_batches = _undated_table(
    "change_batches",
    # The largest number that it has assigned.
    sa.Column("position", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("token", sa.BigInteger, nullable=False),
    # Time in milliseconds since 1970, on the clock of the database.
    sa.Column("numbered_at", sa.BigInteger, nullable=False),
)

# The last numbering, in a single row. Every numbering locks this row.
change_feed = _undated_table(
    "change_feed",
    sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
    # As in `change_batches`.
    sa.Column("position", sa.BigInteger, nullable=False),
    sa.Column("token", sa.BigInteger, nullable=False),
    # As in `change_batches`, or 0 if more changes are waiting for a number.
    sa.Column("numbered_at", sa.BigInteger, nullable=False),
    # The sum of the numbered revisions, computed by `statements.change_numbering`.
    sa.Column("revision_sum", sa.BigInteger, nullable=False),
)

# Kind -> the column that contains the name.
NAMES: Mapping[str, sa.Column[str]] = {
    "resource_class": resource_classes.c.name,
    "trait": traits.c.name,
    "consumer_type": consumer_types.c.name,
    "project": projects.c.external_id,
    "user": users.c.external_id,
    "consumer": consumers.c.uuid,
    "allocated_consumer": allocations.c.consumer_id,
    "aggregate": placement_aggregates.c.uuid,
}
