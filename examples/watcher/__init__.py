"""A strategy of OpenStack Watcher that uses the placement service; see README.rst."""
