"""Fixtures shared by the tests and the bench: services, clouds, engines, servers, clients."""
