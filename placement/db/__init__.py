"""The layer that knows SQL: tables, statements, engines and transactions."""
