"""The entry point for WSGI servers, and the worker and hooks for gunicorn."""
