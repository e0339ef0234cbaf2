"""Alembic's entry: runs the revisions on the connection that `placement.db.schema` hands over."""

from alembic import context

from placement.db.schema import VERSION_TABLE

context.configure(
    connection=context.config.attributes["connection"],
    version_table=VERSION_TABLE,
    transactional_ddl=False,  # the caller has opened the transaction
)
context.run_migrations()
