"""What gunicorn's master process does for the service: hooks for etc/gunicorn.conf.py."""

import ctypes
import socket
import struct
from contextlib import suppress
from typing import Any

from placement.app import serve
from placement.compat import gunicorn
from placement.console import fail
from placement.errors import ConfigurationError
from placement.wsgi import memory

SO_ATTACH_FILTER = 26  # Linux
_RETURN = 0x06  # the instruction of a packet filter that says how much of a packet is kept


def on_starting(master: Any) -> None:
    """Make signals do what operators expect, and open the port of the metrics.

    SIGTERM and Ctrl-C lose no request; SIGHUP reads placement.conf again.
    """

    def shut_all() -> None:
        for listener in gunicorn.get_own_listeners(master):
            shut(listener)

    _give_metrics(master)
    _bind_metrics(master)
    gunicorn.after_setup(master, lambda: _bind_metrics(master))
    gunicorn.before_stop(master, shut_all)
    gunicorn.before_reload(master, lambda: rebuild(master))


def child_exit(master: Any, _worker: Any) -> None:
    """Keep what a worker has counted, however it ended, and forget what it had in use."""
    metrics = getattr(gunicorn.get_application(master), "metrics", None)
    if metrics is not None:
        metrics.fold()
        _give_metrics(master)


def _give_metrics(master: Any) -> None:
    """Let the workers count where gunicorn's `user` and `group` are not those of the master."""
    metrics = getattr(gunicorn.get_application(master), "metrics", None)
    if metrics is not None:
        metrics.give_to(master.cfg.uid, master.cfg.gid)


def _bind_metrics(master: Any) -> None:
    """Have the master listen on the port of the metrics too, if they have one of their own."""
    address = getattr(gunicorn.get_application(master), "metrics_address", None)
    if address is not None:
        host, port = address
        host = f"[{host}]" if ":" in host else host
        master.cfg.set("bind", [*master.cfg.bind, f"{host}:{port}"])


def shut(listener: Any) -> None:
    """Make the kernel begin no more connections, for all processes that share the listener.

    The kernel would reset those that arrive between a worker's last `accept` and the end of the
    listener. A client that connects now tries again by itself, and finds the port closed or the
    next server.
    """
    # A packet filter of one instruction, which keeps no byte of any packet.
    instruction = ctypes.create_string_buffer(struct.pack("HBBI", _RETURN, 0, 0, 0))
    program = struct.pack("HL", 1, ctypes.addressof(instruction))
    with suppress(OSError):  # without it, the few connections of that moment are reset
        listener.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, program)


def rebuild(master: Any) -> bool:
    """Rebuild the application; return whether workers are to be replaced by those that have it."""
    try:
        application = serve(patient=False)
    except ConfigurationError as error:
        fail(ConfigurationError(f"not reloaded, the workers go on as before: {error}"))
        return False
    except Exception:
        master.log.exception("Not reloaded, the workers go on as before")
        return False
    gunicorn.set_application(master, application)
    memory.freeze()
    return True
