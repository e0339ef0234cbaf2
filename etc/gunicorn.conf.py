"""Gunicorn settings of the service: `gunicorn --config etc/gunicorn.conf.py`.

SIGTERM and Ctrl-C answer every request that has arrived. SIGHUP reads placement.conf and this
file again; if placement.conf cannot be used, the workers continue unchanged. New code needs a
restart.
"""

import os
import signal

if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    # Until gunicorn handles Ctrl-C, exit without a traceback, even during imports.
    signal.signal(signal.SIGINT, lambda *_: os._exit(130))

from placement.wsgi.master import child_exit, on_starting, when_ready  # noqa: F401

bind = "127.0.0.1:8778"
wsgi_app = "placement.wsgi.api:application"

# Read the configuration, check the schema and fill the catalogues once, before workers fork.
preload_app = True

# One process for each core; all state is in the database. No thread waits for a client: another
# thread collects requests, and these threads answer complete ones. More threads can wait for the
# database at the same time, but Python runs only one of them at a time. Each thread needs a
# connection: [placement_database] max_pool_size + max_overflow allows 15 by default.
worker_class = "placement.wsgi.worker.Worker"
workers = int(os.environ.get("WEB_CONCURRENCY", "2"))
threads = 4

# Connections of a worker; beyond it, the connection that has been idle for longest is closed.
worker_connections = 1000
backlog = 2048

# Seconds that an idle connection stays open. Proxies must close idle connections earlier
# (etc/deploy: after 60 seconds at most), or they would send requests on closing connections.
keepalive = 75

# The application limits path and query (64 KiB, 414), the worker the whole head (256 KiB).
limit_request_fields = 100
limit_request_field_size = 8190

# For gunicorn's own workers, if one of them is used instead: headers of clients cannot set the path
# prefix of the service, and the Python parser rejects lines that end with a bare line feed, which
# the C parser accepts.
forwarder_headers = ""
http_parser = "python"
limit_request_line = 0

timeout = 60  # seconds without a heartbeat, after which a worker is killed
graceful_timeout = 30  # seconds that a stopping worker has for open requests

# The service itself logs one line for each request.
accesslog = None
errorlog = "-"
loglevel = "warning"

control_socket_disable = True
