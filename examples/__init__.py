"""Programs that use the placement service, to be copied from: docs/examples.rst."""
