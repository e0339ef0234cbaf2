"""`make serve` and `make reset`, as a new user runs them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.kit.ports import free_port
from tests.kit.processes import REPOSITORY, START, NoAnswerError, send


class Demo:
    """`etc/serve-demo.sh` in a separate directory and session, as in a terminal."""

    def __init__(self, home: Path, database: str = "") -> None:
        (home / "etc").symlink_to(REPOSITORY / "etc")
        self.home = home
        self.port = free_port()
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("OS_")},
            "BIN": str(Path(sys.executable).parent),
            "PORT": str(self.port),
            "DB": database or f"sqlite:///{home}/.run/placement.db",
        }

    def start(self) -> subprocess.Popen[str]:
        self.process = subprocess.Popen(
            # Where tests run in the background, Ctrl-C is ignored, and a shell cannot change that.
            ["env", "--default-signal=INT", "sh", "etc/serve-demo.sh"],
            cwd=self.home,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        return self.process

    def interrupt(self) -> None:
        """Send Ctrl-C."""
        os.killpg(self.process.pid, signal.SIGINT)

    def await_answer(self) -> None:
        deadline = time.monotonic() + START
        while True:
            try:
                send(self.port, "GET", "/")
                return
            except NoAnswerError:
                assert time.monotonic() < deadline
                time.sleep(0.05)

    def said(self) -> str:
        """Return the complete output after the last process has ended."""
        text = self.process.communicate(timeout=START)[0]
        deadline = time.monotonic() + START
        while self._is_alive():
            assert time.monotonic() < deadline, "a process is left"
            time.sleep(0.05)
        return text

    def _is_alive(self) -> bool:
        try:
            os.killpg(self.process.pid, 0)
        except ProcessLookupError:
            return False
        return True

    def make(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["make", "-f", str(REPOSITORY / "Makefile"), *words],
            cwd=self.home, capture_output=True, text=True, check=False,
        )  # fmt: skip


@pytest.fixture
def demo(tmp_path: Path) -> Iterator[Demo]:
    made = Demo(tmp_path)
    yield made
    if made.process.poll() is None:
        os.killpg(made.process.pid, signal.SIGKILL)
        made.process.communicate()


@pytest.mark.parametrize(
    ("database", "reason"),
    [
        ("sqlite:////nowhere/at/all.db", "unable to open database file"),
        ("mysql+pymysql://root@127.0.0.1:1/placement", "Can't connect to MySQL server"),
        ("nosuch://x", "nosuch"),
    ],
)
def test_an_unusable_database_ends_it_with_the_reason(
    demo: Demo, database: str, reason: str
) -> None:
    demo.environment["DB"] = database
    assert demo.start().wait(START) == 1
    (line,) = demo.said().splitlines()
    assert reason in line


def test_data_of_a_running_server_are_not_reset(demo: Demo) -> None:
    demo.start()
    demo.await_answer()
    refused = demo.make("reset")
    assert refused.returncode != 0
    assert "make serve is running" in refused.stdout
    assert (demo.home / ".run" / "placement.db").exists()
    demo.interrupt()
    demo.said()
    assert demo.make("reset").returncode == 0
    assert not (demo.home / ".run").exists()


def test_a_reset_names_the_databases_that_it_leaves(tmp_path: Path) -> None:
    home, other = tmp_path / "home", tmp_path / "other.db"
    home.mkdir()
    demo = Demo(home, f"sqlite:///{other}?timeout=5")
    for database in ("postgresql+psycopg://me:secret@127.0.0.1:1/cloud", demo.environment["DB"]):
        demo.environment["DB"] = database
        demo.start()
        if "sqlite" in database:
            demo.await_answer()
            demo.interrupt()
        demo.said()
    reset = demo.make("reset")
    assert reset.returncode == 0
    assert [line for line in reset.stdout.splitlines() if line.startswith("Left")] == [
        "Left as it is: the database postgresql+psycopg://127.0.0.1:1/cloud",
        f"Left as it is: the database sqlite:///{other}",
    ]
    assert not (home / ".run").exists()
    assert other.exists()


@pytest.mark.parametrize("seconds", [0.02, 0.3, 1.0, 2.5])
def test_ctrl_c_at_any_time_is_quiet_and_leaves_no_process(demo: Demo, seconds: float) -> None:
    demo.start()
    time.sleep(seconds)
    demo.interrupt()
    text = demo.said()
    assert "Traceback" not in text
    assert "KeyboardInterrupt" not in text


def test_postgresql_brings_its_driver(tmp_path: Path) -> None:
    venv = tmp_path / "venv"
    venv.mkdir()
    (venv / "pyvenv.cfg").touch()
    command = ["make", "--dry-run", "serve", f"VENV={venv}", "DB=postgresql://localhost/placement"]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=True)
    assert "--editable '.[postgresql]'" in done.stdout


def test_documentation_installs_no_tests_and_no_linters(tmp_path: Path) -> None:
    venv = tmp_path / "venv"
    venv.mkdir()
    (venv / "pyvenv.cfg").touch()
    command = ["make", "--dry-run", "docs", f"VENV={venv}", "OPEN=", "INSTALL=test"]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=True)
    assert "--editable '.[docs]'" in done.stdout
    # A developer's environment has it all, and is not installed into a second time.
    (venv / "installed-test").touch()
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=True)
    assert "pip install" not in done.stdout
