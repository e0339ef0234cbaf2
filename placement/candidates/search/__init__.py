"""Search the trees that may serve a request for its candidates."""
