"""Gunicorn settings of the service: `gunicorn --config etc/gunicorn.conf.py`."""

import os
import signal

bind = "127.0.0.1:8778"
wsgi_app = "placement.wsgi.api:application"

# Each worker answers one request at a time; all state is in the database.
worker_class = "sync"
workers = int(os.environ.get("WEB_CONCURRENCY", "2"))

# Configuration is read, the schema checked and the catalogues filled once, before workers fork.
preload_app = True

# Granular requests are longer than gunicorn's default allows. The application bounds them.
limit_request_line = 0

timeout = 60  # seconds for one request
graceful_timeout = 30

# The service writes one line for each request itself.
accesslog = None
errorlog = "-"
loglevel = "warning"


def on_starting(server):
    """Ctrl-C lets requests under way finish, as SIGTERM does."""
    server.handle_int = server.handle_term


def post_worker_init(worker):
    """A terminal's Ctrl-C reaches workers too; they stop when the arbiter tells them."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
