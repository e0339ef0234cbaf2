"""Gunicorn settings of the service: `gunicorn --config etc/gunicorn.conf.py`.

SIGTERM answers the requests that workers have begun. SIGHUP reads placement.conf and this file
again; if placement.conf cannot be used, the service continues unchanged. New code needs a restart.
"""

import os
import signal

if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    # Until gunicorn handles Ctrl-C, exit without a traceback, even during imports.
    signal.signal(signal.SIGINT, lambda *_: os._exit(130))

# If [metrics] bind_port is set, add an address with this port. Ignored with placement.socket.
bind = ["127.0.0.1:8778"]
wsgi_app = "placement.wsgi.api:application"

# Read the configuration, check the schema and fill the catalogues once, before workers fork.
preload_app = True

# One process for each core; all state is in the database. Threads wait for the database, and for
# clients, unless a proxy buffers requests and responses (etc/deploy/nginx). Python runs only one
# thread at a time, and only one thread of a process makes a response of megabytes. A thread needs
# a connection during a transaction: [placement_database] max_pool_size + max_overflow allows 15 by
# default.
worker_class = "gthread"
workers = int(os.environ.get("WEB_CONCURRENCY", "2"))
threads = 32

# Connections of a worker, including idle ones.
worker_connections = 1000
backlog = 2048

# Seconds that an idle connection stays open. Proxies must close idle connections earlier
# (etc/deploy: after 60 seconds at most), or they would send requests on closing connections.
keepalive = 75

# The application limits path and query (64 KiB, 414). gunicorn cannot allow so much and less than
# any length, so the proxy limits the request line.
limit_request_line = 0
limit_request_fields = 100
limit_request_field_size = 8190

# Headers of clients cannot set the path prefix of the service. The Python parser rejects lines that
# end with a bare line feed, which the C parser accepts.
forwarder_headers = ""
http_parser = "python"

timeout = 60  # seconds without a heartbeat, after which a worker is killed
graceful_timeout = 30  # seconds that a stopping worker has for open requests

# The service itself logs one line for each request.
accesslog = None
errorlog = "-"
loglevel = "warning"

control_socket_disable = True


def on_reload(_server: object) -> None:
    """Read placement.conf again before new workers are forked."""
    from placement.wsgi import api  # noqa: PLC0415 - loaded with `wsgi_app`

    api.reload()
