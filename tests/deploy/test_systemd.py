"""The units, checked by systemd, and the service under the conditions of the units."""

from __future__ import annotations

import shlex
import signal
import socket
import subprocess
from pathlib import Path

import pytest

from tests.deploy.conftest import NewMachine
from tests.deploy.machine import PYTHON, USER, Machine
from tests.deploy.proxies import PROXIES, SERVICE, changed, proxying
from tests.deploy.serving import ACTIVATED, CONFIGURATION, await_answer, listen
from tests.kit.load import Load
from tests.kit.missing import need
from tests.kit.ports import free_port
from tests.kit.processes import REPOSITORY, START, expect, new_host, send

UNITS = REPOSITORY / "etc/deploy/systemd"
SERVICES = ["placement.service", "placement-db-sync.service"]
SOCKET = "placement.socket"
# Server -> the file with its command.
COMMANDS = {"gunicorn": "placement.service", "uwsgi": "uwsgi.conf"}
RESTARTS = 5
EXPOSED = "20"  # of 100, at most, as `systemd-analyze security` counts

# MemoryDenyWriteExecute, as far as a kernel knows it: PR_SET_MDWE, PR_MDWE_REFUSE_EXEC_GAIN.
NO_NEW_CODE = """
import ctypes, errno, os, sys
libc = ctypes.CDLL(None, use_errno=True)
assert libc.prctl(65, 1, 0, 0, 0) == 0 or ctypes.get_errno() == errno.EINVAL
os.execv(sys.argv[1], sys.argv[1:])
"""


def directives(name: str) -> dict[str, list[str]]:
    """Return the directives of a unit, by name, from all sections."""
    values: dict[str, list[str]] = {}
    for line in (UNITS / name).read_text().splitlines():
        key, equals, value = line.partition("=")
        if equals and not line.startswith("#"):
            values.setdefault(key, []).append(value)
    return values


@pytest.fixture
def units(tmp_path: Path) -> Path:
    """The units, with commands that exist."""
    for name in (*SERVICES, SOCKET):
        text = (UNITS / name).read_text().replace("/opt/placement/bin/", "/bin/true ")
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.fixture
def drop_in(units: Path) -> None:
    """The service with uWSGI."""
    directory = units / "placement.service.d"
    directory.mkdir()
    text = (UNITS / "uwsgi.conf").read_text().replace("/opt/placement/bin/", "/bin/true ")
    (directory / "uwsgi.conf").write_text(text)


@pytest.mark.parametrize("name", [*SERVICES, SOCKET])
def test_systemd_finds_nothing_wrong(units: Path, name: str) -> None:
    need("systemd-analyze")
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", "--recursive-errors=no", str(units / name)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("name", SERVICES)
def test_systemd_takes_them_for_well_protected(units: Path, name: str) -> None:
    need("systemd-analyze")
    done = subprocess.run(
        [
            "systemd-analyze", "security", "--offline=true", f"--threshold={EXPOSED}",
            str(units / name),
        ],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout


def test_the_user_of_the_units_is_the_one_that_is_made() -> None:
    made = (UNITS / "placement.sysusers.conf").read_text().splitlines()[-1].split()[1]
    for name in SERVICES:
        assert directives(name)["User"] == directives(name)["Group"] == [made]


@pytest.fixture
def protected(installed: Machine) -> Machine:
    """A machine with ProtectSystem=strict, ProtectHome and the directories of the units."""
    unit = directives("placement.service")
    assert unit["ProtectSystem"] == ["strict"]
    assert unit["ProtectHome"] == unit["PrivateTmp"] == unit["NoNewPrivileges"] == ["yes"]
    assert unit["CapabilityBoundingSet"] == [""]
    python = str(PYTHON)
    installed.put("/etc/placement/placement.conf", CONFIGURATION)
    for name in ("gunicorn.conf.py", "deploy/uwsgi/placement.ini"):
        text = (REPOSITORY / "etc" / name).read_text()
        changes = {SERVICE: "127.0.0.1:$(PORT)"} if "uwsgi" in name else {}  # uWSGI reads it
        installed.put(f"/etc/placement/{Path(name).name}", changed(text, changes))
    # The tests' Python may be where ProtectHome hides it.
    installed.prepare(
        'for place in root home; do mount -t tmpfs none "$place"; done; chmod 755 root; '
        'mkdir -p ".$1"; mount --bind "$1" ".$1"; mount -o remount,ro,bind ".$1"; '
        "mount -o remount,ro root; mount -o remount,ro home",
        python,
    )
    for name in unit["RuntimeDirectory"]:
        installed.room(f"/run/{name}")
    for name in unit["StateDirectory"]:
        installed.room(f"/var/lib/{name}")
    installed.seal()
    return installed


@pytest.mark.parametrize("server", COMMANDS)
def test_no_request_is_lost_while_the_service_restarts(
    server: str, protected: Machine, new_machine: NewMachine, tmp_path: Path
) -> None:
    need("nginx")
    protected.run(shlex.split(directives("placement-db-sync.service")["ExecStart"][0]), {})
    port, log = free_port(), tmp_path / "log"
    environment = {"OS_PLACEMENT_CONFIG_DIR": "/etc/placement", "PORT": str(port)}
    command = [*ACTIVATED, *shlex.split(directives(COMMANDS[server])["ExecStart"][-1])]
    with listen(port) as sock, log.open("wb") as output:
        process = protected.start(command, environment, output, stdin=sock.fileno())
        await_answer(port, process, log)
        with proxying(PROXIES["nginx"], new_machine(), port, tmp_path / "nginx") as proxy:
            load = Load(proxy, "/placement/traits?associated=true")
            with load.running():
                for _ in range(RESTARTS):
                    process.terminate()
                    assert process.wait(START) == 0
                    process = protected.start(command, environment, output, stdin=sock.fileno())
                    load.await_answers()
        process.terminate()
        assert process.wait(START) == 0
    assert (load.lost, set(load.counts)) == ([], {"200"})


@pytest.mark.usefixtures("drop_in")
def test_systemd_finds_nothing_wrong_with_uwsgi(units: Path) -> None:
    test_systemd_finds_nothing_wrong(units, "placement.service")


@pytest.mark.parametrize("server", COMMANDS)
def test_the_service_serves_and_says_when_under_the_conditions_of_its_unit(
    server: str, protected: Machine, tmp_path: Path
) -> None:
    migration, unit = directives("placement-db-sync.service"), directives("placement.service")
    protected.run(shlex.split(migration["ExecStart"][0]), {})

    port = free_port()
    environment = dict(each.split("=", 1) for each in unit["Environment"])
    # As a line of /etc/default/placement.
    environment["GUNICORN_CMD_ARGS"] = f"--bind=127.0.0.1:{port}"
    environment["PORT"] = str(port)
    environment["NOTIFY_SOCKET"] = f"@deploy{port}"
    started = shlex.split(directives(COMMANDS[server])["ExecStart"][-1])
    command = [f"{PYTHON}/bin/python3", "-c", NO_NEW_CODE, *started]
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notified:
        notified.bind(f"\0deploy{port}")
        notified.settimeout(START)
        with (tmp_path / "log").open("wb") as log:
            process = protected.start(command, environment, log)
        assert unit["Type"] == ["notify"]
        await_answer(port, process, tmp_path / "log")
        while b"READY=1" not in notified.recv(1000):
            pass
    expect(send(port, "GET", "/healthcheck"), 200)
    new_host(port, VCPU=8)
    status = Path(f"/proc/{process.pid}/status").read_text()
    assert f"Uid:\t{USER}\t{USER}\t{USER}\t{USER}" in status
    assert "NoNewPrivs:\t1" in status
    for rights in ("CapPrm", "CapEff", "CapBnd", "CapAmb"):
        assert f"{rights}:\t{0:016x}" in status
    # ExecReload, and then what systemd sends to stop it.
    assert "-HUP $MAINPID" in unit["ExecReload"][0]
    process.send_signal(signal.SIGHUP)
    new_host(port, VCPU=8)
    process.send_signal(signal.SIGTERM)
    assert process.wait(START) in {0, int(unit["SuccessExitStatus"][0])}
    said = (tmp_path / "log").read_text()
    assert "Traceback" not in said
    assert "resource_providers" in said, "its log goes to standard error"
