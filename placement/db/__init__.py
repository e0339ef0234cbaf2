"""The database layer: tables, statements, engines and transactions."""
