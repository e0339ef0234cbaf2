"""The database layer, with tables, statements, engines and transactions."""
