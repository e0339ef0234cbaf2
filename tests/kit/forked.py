"""Programs, forked from a process that has imported the service: a start takes a fifth of the time.

They are forked by the fork server of `multiprocessing`, which has imported the modules and has no
threads. The rest of a start of gunicorn is the same: configuration, database, hooks, workers.
"""

from __future__ import annotations

import atexit
import functools
import multiprocessing
import os
import runpy
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from multiprocessing import forkserver
from multiprocessing.context import ForkServerContext
from pathlib import Path

# `requests` is what oslo.policy imports when it reads its first rule.
IMPORTED = [__name__, "gunicorn.app.wsgiapp", "placement.entry.app", "requests"]


class Forked:
    """A process with the methods of `subprocess.Popen` that tests use."""

    def __init__(
        self,
        command: Sequence[str],
        cwd: str,
        env: Mapping[str, str],
        output: Path,
        errors: Path | None = None,
    ) -> None:
        """Run a program in a new session.

        Args:
            command: its arguments, after the name of its module or the path of its file.
            cwd: the current directory of the process.
            env: its environment.
            output: the file that its output is appended to.
            errors: the file for standard error, or None for the file of the output.
        """
        files = output, errors or output
        self._process = _context().Process(target=_run, args=(command, cwd, dict(env), files))
        self._process.start()
        self.pid: int = self._process.pid or 0

    def poll(self) -> int | None:
        """Return the exit code, negative for a signal, or None while the process runs."""
        return self._process.exitcode

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the end; return the exit code.  Raises subprocess.TimeoutExpired."""
        self._process.join(timeout)
        code = self._process.exitcode
        if code is None:
            raise subprocess.TimeoutExpired("a forked process", timeout or 0)
        return code

    def send_signal(self, number: signal.Signals) -> None:
        """Send a signal, unless the process has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        """Send SIGTERM, unless the process has ended."""
        self.send_signal(signal.SIGTERM)


@functools.cache
def _context() -> ForkServerContext:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(IMPORTED)
    atexit.register(_end)
    return context


def prepare() -> None:
    """Start the fork server, whose socket is in the present directory for temporary files."""
    _context()
    forkserver.ensure_running()


def _end() -> None:
    """End what is left of the processes, then the fork server, which has waited for them."""
    for process in multiprocessing.active_children():
        with suppress(ProcessLookupError):
            os.killpg(process.pid or 0, signal.SIGKILL)
        process.join()
    forkserver._forkserver._stop()  # type: ignore[attr-defined]


def _run(
    command: Sequence[str], cwd: str, env: Mapping[str, str], files: tuple[Path, Path]
) -> None:
    """Run a program as `python` does; the workers of gunicorn return from here as well."""
    os.setsid()
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env)
    for number, path in enumerate(files, 1):
        with path.open("ab") as file:
            os.dup2(file.fileno(), number)
    sys.argv[:] = command
    run = runpy.run_path if os.sep in command[0] else runpy.run_module
    try:
        run(command[0], run_name="__main__")
    finally:
        atexit._run_exitfuncs()  # which `multiprocessing` leaves out
