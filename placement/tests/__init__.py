"""Fixtures for the functional tests of other projects, under the paths that those tests import."""
