"""The wiring of the service, and its entry points in process, for the oslo tools and for tests."""
