"""The two forms of requests for candidates, the query string and JSON, and their common checks."""
