"""The service on a Galera cluster of three nodes, written through all of them."""
