"""The answers of the API, by noun: their members, each since its version."""
