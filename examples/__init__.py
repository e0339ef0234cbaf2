"""Programs that use the placement service, to be copied from: examples/README.rst."""
