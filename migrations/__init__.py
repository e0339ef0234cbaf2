"""The schema revisions, and the entry point of Alembic."""
