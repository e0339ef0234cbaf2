"""The entry point for WSGI servers."""
