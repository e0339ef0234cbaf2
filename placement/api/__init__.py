"""The layer that knows HTTP: versions, routes, schemas, queries, bodies and errors."""
