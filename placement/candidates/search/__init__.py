"""The search: from the trees that may serve a request to its candidates."""
