"""Parsing of query strings into domain values."""
