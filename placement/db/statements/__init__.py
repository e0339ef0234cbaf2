"""The SQL of the service, by noun."""
