"""The search for candidates in the trees that may serve a request."""
