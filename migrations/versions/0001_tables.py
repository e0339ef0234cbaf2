"""The tables of the schema that openstack-placement has used since 2022.

In an existing database, the revision only creates the indexes that are missing, because statements
name some of them. In an empty database, it creates the tables and records their schema in
`alembic_version`, so that openstack-placement can also use the database.
"""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

LIKE = "a082b8bb98d0"

metadata = sa.MetaData(
    naming_convention={
        "ix": "%(table_name)s_%(column_0_N_name)s_idx",
        "uq": "uniq_%(table_name)s0%(column_0_N_name)s",
        "fk": "%(table_name)s_%(column_0_name)s_fkey",
    }
)


def _table(name: str, *items: sa.schema.SchemaItem) -> sa.Table:
    return sa.Table(
        name,
        metadata,
        sa.Column("created_at", sa.DateTime),
        sa.Column("updated_at", sa.DateTime),
        *items,
        mysql_engine="InnoDB",
        mysql_charset="utf8mb3",
    )


def _id(autoincrement: bool = True) -> sa.Column[int]:
    return sa.Column("id", sa.Integer, primary_key=True, autoincrement=autoincrement)


resource_providers = _table(
    "resource_providers",
    _id(),
    sa.Column("uuid", sa.String(36), nullable=False),
    sa.Column("name", sa.Unicode(200)),
    sa.Column("generation", sa.Integer),
    sa.Column("root_provider_id", sa.Integer, sa.ForeignKey("resource_providers.id")),
    sa.Column("parent_provider_id", sa.Integer, sa.ForeignKey("resource_providers.id")),
    sa.UniqueConstraint("uuid", name="uniq_resource_providers0uuid"),
    sa.UniqueConstraint("name", name="uniq_resource_providers0name"),
    sa.Index("resource_providers_root_provider_id_idx", "root_provider_id"),
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
    sa.UniqueConstraint(
        "resource_provider_id",
        "resource_class_id",
        name="uniq_inventories0resource_provider_resource_class",
    ),
    sa.Index("inventories_resource_class_id_idx", "resource_class_id"),
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


alembic_version = sa.Table(
    "alembic_version",
    metadata,
    sa.Column("version_num", sa.String(32), primary_key=True),
    mysql_engine="InnoDB",
)


def lacking(inspector: sa.Inspector) -> list[str]:
    return [
        name
        for table in metadata.tables.values()
        if table is not alembic_version
        for name in _lacking(inspector, table)
    ]


def _lacking(inspector: sa.Inspector, table: sa.Table) -> list[str]:
    if not inspector.has_table(table.name):
        return [table.name]
    names = {column["name"] for column in inspector.get_columns(table.name)}
    missing = [f"{table.name}.{column.name}" for column in table.c if column.name not in names]
    indexes = {index["name"] for index in inspector.get_indexes(table.name)}
    return missing + [str(index.name) for index in table.indexes if index.name not in indexes]


def upgrade() -> None:
    """Create the missing tables and indexes.

    The version is recorded first. On engines that commit each statement separately, the version
    identifies the tables after an interruption, and a table may exist without its indexes.
    """
    connection = op.get_bind()
    alembic_version.create(connection, checkfirst=True)
    if connection.execute(sa.select(alembic_version.c.version_num)).first() is None:
        connection.execute(sa.insert(alembic_version).values(version_num=LIKE))
    metadata.create_all(connection, checkfirst=True)
    for table in metadata.sorted_tables:
        for index in table.indexes:
            index.create(connection, checkfirst=True)
