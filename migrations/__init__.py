"""The schema revisions, and Alembic's entry point."""
