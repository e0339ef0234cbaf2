"""Fixtures that the tests and the measurements share."""
