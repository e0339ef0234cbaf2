"""The entry point for WSGI servers, and the worker and hooks of gunicorn."""
