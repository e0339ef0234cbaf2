"""Hooks for the master process of gunicorn. etc/gunicorn.conf.py refers to them."""

import ctypes
import logging
import socket
import struct
from contextlib import suppress
from typing import Any

from placement import __version__
from placement.app import serve
from placement.compat import gunicorn
from placement.console import fail
from placement.errors import ConfigurationError
from placement.wsgi import memory

LOG = logging.getLogger(__name__)

SO_ATTACH_FILTER = 26  # Linux
_RETURN = 0x06  # instruction of a packet filter: how many bytes of a packet to accept


def on_starting(master: Any) -> None:
    """Set up signal handling, and open the port of the metrics.

    SIGTERM and Ctrl-C do not lose any request. SIGHUP reads placement.conf again.
    """

    def shut_all() -> None:
        for listener in gunicorn.get_own_listeners(master):
            shut(listener)

    _give_metrics(master)
    _bind_metrics(master)
    gunicorn.after_setup(master, lambda: _bind_metrics(master))
    gunicorn.before_stop(master, shut_all)
    gunicorn.before_reload(master, lambda: rebuild(master))


def when_ready(master: Any) -> None:
    """Log that the service has started, and its release, database, workers and addresses."""
    application = gunicorn.get_application(master)
    LOG.info(
        "placement %s on %s: %d workers, listening at %s",
        __version__,
        getattr(application, "database", "no database"),
        master.cfg.workers,
        ", ".join(gunicorn.get_addresses(master)),
    )


def child_exit(master: Any, _worker: Any) -> None:
    """Keep the counts of a worker that has ended, and delete its gauges."""
    metrics = getattr(gunicorn.get_application(master), "metrics", None)
    if metrics is not None:
        metrics.fold()
        _give_metrics(master)


def _give_metrics(master: Any) -> None:
    """Allow workers to write the metrics if gunicorn's `user` and `group` are not the master's."""
    metrics = getattr(gunicorn.get_application(master), "metrics", None)
    if metrics is not None:
        metrics.give_to(master.cfg.uid, master.cfg.gid)


def _bind_metrics(master: Any) -> None:
    """Make the master listen on the port of the metrics, if the metrics have a separate port."""
    address = getattr(gunicorn.get_application(master), "metrics_address", None)
    if address is not None:
        host, port = address
        host = f"[{host}]" if ":" in host else host
        master.cfg.set("bind", [*master.cfg.bind, f"{host}:{port}"])


def shut(listener: Any) -> None:
    """Make the kernel refuse new connections, for all processes that share the listener.

    Otherwise, the kernel would reset connections that arrive between a worker's last `accept` and
    the close of the listener. With this filter, the client's TCP retries instead, and finds the
    port closed or the next server.
    """
    # A packet filter with a single instruction. It accepts no bytes of any packet.
    instruction = ctypes.create_string_buffer(struct.pack("HBBI", _RETURN, 0, 0, 0))
    program = struct.pack("HL", 1, ctypes.addressof(instruction))
    with suppress(OSError):  # in this case, the few connections of this moment are reset
        listener.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, program)


def rebuild(master: Any) -> bool:
    """Rebuild the application, and return whether the workers have to be replaced."""
    try:
        application = serve(patience=0)
    except ConfigurationError as error:
        fail(ConfigurationError(f"not reloaded, the workers continue unchanged: {error}"))
        return False
    except Exception:
        master.log.exception("Not reloaded, the workers continue unchanged")
        return False
    gunicorn.set_application(master, application)
    memory.freeze()
    return True
