"""What gunicorn's master process does otherwise for this service; used by etc/gunicorn.conf.py."""

import ctypes
import gc
import socket
import struct
from contextlib import suppress
from typing import Any

from placement.app import serve
from placement.console import fail
from placement.errors import ConfigurationError

SO_ATTACH_FILTER = 26  # Linux
_RETURN = 0x06  # the instruction of a packet filter that says how much of a packet is kept


def on_starting(master: Any) -> None:
    """Have signals do what operators expect.

    SIGTERM and Ctrl-C lose no request; SIGHUP reads placement.conf again.
    """

    def stop() -> None:
        # A listener that is not ours alone stays open: another master's, or systemd's.
        if not (master.reexec_pid or master.master_pid or master.systemd):
            for listener in master.LISTENERS:
                shut(listener)
        type(master).handle_term(master)

    master.handle_term = master.handle_int = stop
    master.handle_hup = lambda: reload(master)


def shut(listener: Any) -> None:
    """Have the kernel begin no more connections, for all processes that share the listener.

    Those that came between a worker's last look and the listener's end would be reset. Who comes
    now tries again by itself, and finds the port closed or the next server.
    """
    nothing = ctypes.create_string_buffer(struct.pack("HBBI", _RETURN, 0, 0, 0))
    program = struct.pack("HL", 1, ctypes.addressof(nothing))
    with suppress(OSError):  # where it cannot be done, the few of that moment are reset
        listener.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, program)


def reload(master: Any) -> None:
    """Make the application anew and replace the workers; keep them when that cannot be done."""
    try:
        application = serve(patient=False)
    except ConfigurationError as error:
        fail(ConfigurationError(f"not reloaded, the workers go on as before: {error}"))
    except Exception:
        master.log.exception("Not reloaded, the workers go on as before")
    else:
        master.app.callable = application
        gc.unfreeze()
        gc.collect()
        gc.freeze()
        type(master).handle_hup(master)
