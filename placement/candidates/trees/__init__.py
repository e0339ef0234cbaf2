"""Read the trees that may serve a request, from the database or the cache.

No other package of `candidates` executes SQL statements.
"""
