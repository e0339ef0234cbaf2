"""The revisions of the schema, and Alembic's entry to them."""
