"""The entry for WSGI servers, and gunicorn's worker and signals."""
