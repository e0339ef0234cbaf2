"""What the tests and the bench are made with: services, clouds, engines, servers, clients."""
