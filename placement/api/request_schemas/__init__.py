"""The schemas of request bodies, by noun."""
