"""The entry point of Alembic. It runs the revisions on the connection of `placement.db.schema`.

Neither this module nor a revision imports modules of the service, except `placement.db.tables`.
"""

from alembic import context

context.configure(
    connection=context.config.attributes["connection"],
    version_table=context.config.attributes["version_table"],
    transactional_ddl=False,  # the caller begins and ends the transaction
)
context.run_migrations()
