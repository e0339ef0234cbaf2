"""The HTTP layer, with versions, routes, schemas, queries, bodies and errors."""
