"""The HTTP layer: versions, routes, schemas, queries, bodies, responses and errors."""
