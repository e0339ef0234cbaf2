"""Extensions of gunicorn, where it has no suitable server hook.

gunicorn calls its hooks after it has handled a signal, closed the listeners, or applied the
settings of a reload. No hook can refuse a reload.
"""

from collections.abc import Callable
from typing import Any


def get_application(master: Any) -> Any:
    """Return the application for new workers, or None before it is loaded."""
    return master.app.callable


def set_application(master: Any, application: Any) -> None:
    """Set the application for new workers."""
    master.app.callable = application


def get_addresses(master: Any) -> list[str]:
    """Return the addresses of all listeners."""
    return [str(listener) for listener in master.LISTENERS]


def get_own_listeners(master: Any) -> list[Any]:
    """Return the listeners. If another master or systemd may share them, return no listeners."""
    is_shared = master.reexec_pid or master.master_pid or master.systemd
    return [] if is_shared else list(master.LISTENERS)


def after_setup(master: Any, act: Callable[[], None]) -> None:
    """Call a function after the settings have been read again and before listeners are created."""

    def setup(app: Any) -> None:
        type(master).setup(master, app)
        act()

    master.setup = setup


def before_stop(master: Any, act: Callable[[], None]) -> None:
    """Also stop gracefully on SIGINT, and call a function before listeners are closed."""

    def stop() -> None:
        act()
        type(master).handle_term(master)

    master.handle_term = master.handle_int = stop


def before_reload(master: Any, act: Callable[[], bool]) -> None:
    """Call a function on SIGHUP, and reload only if the function returns true."""

    def reload() -> None:
        if act():
            type(master).handle_hup(master)

    master.handle_hup = reload
