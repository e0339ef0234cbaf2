"""Alembic's entry: runs the revisions on the connection that `placement.db.schema` hands over.

No module of the service is imported here, nor in a revision, but for `placement.db.tables`.
"""

from alembic import context

context.configure(
    connection=context.config.attributes["connection"],
    version_table=context.config.attributes["version_table"],
    transactional_ddl=False,  # the caller has opened the transaction
)
context.run_migrations()
