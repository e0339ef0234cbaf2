"""The package that functional tests of other projects import."""
