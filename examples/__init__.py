"""Example programs that use the placement service; see docs/examples.rst."""
