"""The trees that may serve a request, read from the database or kept in memory.

Of `candidates`, the modules of this package alone execute statements.
"""
