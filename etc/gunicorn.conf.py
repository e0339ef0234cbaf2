"""Gunicorn settings of the service: `gunicorn --config etc/gunicorn.conf.py`.

SIGTERM and Ctrl-C answer every request that has arrived. SIGHUP reads placement.conf and this
file again; if placement.conf cannot be used, the workers go on as before. New code needs a restart.
"""

import os
import signal

if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    # Until gunicorn handles Ctrl-C, it ends the process quietly, whatever is being imported.
    signal.signal(signal.SIGINT, lambda *_: os._exit(130))

from placement.wsgi.master import child_exit, on_starting  # noqa: F401

bind = "127.0.0.1:8778"
wsgi_app = "placement.wsgi.api:application"

# Configuration is read, the schema checked and the catalogues filled once, before workers fork.
preload_app = True

# One process for each core; all state is in the database. No thread waits for a client: so many
# answer complete requests, and one more gathers those that come meanwhile. More threads can wait
# for the database at the same time, but Python runs one of them at a time. Each needs a
# connection: [placement_database] max_pool_size and max_overflow, 5 and 10 by default.
worker_class = "placement.wsgi.worker.Worker"
workers = int(os.environ.get("WEB_CONCURRENCY", "2"))
threads = 4

# Connections of a worker; for one more, the one that has waited longest for its request is dropped.
worker_connections = 1000
backlog = 2048

# Seconds that a connection without a request is kept. A proxy keeps its idle connections for less
# (etc/deploy: 60 seconds at most), so that it never sends a request on one that is being closed.
keepalive = 75

# The application bounds path and query (64 KiB, 414), the worker all of the head (256 KiB).
limit_request_fields = 100
limit_request_field_size = 8190

# For gunicorn's own workers, where one of them is used instead: no header of a client names the
# place where the service is mounted; and the parser in C takes lines that end with a bare line
# feed.
forwarder_headers = ""
http_parser = "python"
limit_request_line = 0

timeout = 60  # seconds without a sign of life, after which a worker is killed
graceful_timeout = 30  # seconds for open requests when a worker stops

# The service writes one line for each request itself.
accesslog = None
errorlog = "-"
loglevel = "warning"

control_socket_disable = True
