"""The package for Debian: built, extracted on a machine, and served as its units state."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from placement import __version__
from placement.db import schema
from tests.deploy.conftest import NewMachine
from tests.deploy.machine import USER
from tests.deploy.proxies import SERVICE
from tests.deploy.serving import ACTIVATED, CONFIGURATION, await_answer, listen
from tests.kit.missing import need
from tests.kit.packages import copy_checkout, copy_client
from tests.kit.ports import free_port
from tests.kit.processes import REPOSITORY, START, expect, send

DEBIAN = REPOSITORY / "debian"


def fields(paragraph: str) -> dict[str, str]:
    """The fields of a paragraph of a control file."""
    return dict(re.findall(r"^([\w-]+): (.*(?:\n .*)*)$", paragraph, re.MULTILINE))


def test_the_package_replaces_the_packages_of_debian() -> None:
    source, package = map(fields, (DEBIAN / "control").read_text().split("\n\n"))
    assert source["Source"] == package["Package"] == "falcon-placement"
    assert package["Provides"] == "placement-api"
    for relation in ("Conflicts", "Replaces"):
        assert package[relation] == "placement-api, placement-common, python3-placement"
    assert "uwsgi-plugin-python3" in package["Depends"]


def test_the_package_has_the_version_of_the_service() -> None:
    stated = (DEBIAN / "changelog").read_text().partition(")")[0]
    version = re.sub("(a|b|rc)", r"~\1", __version__)  # sorts before the release
    assert stated == f"falcon-placement ({version}"


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package, as its own rules build it."""
    need("dpkg-buildpackage")
    need("dh")
    directory = tmp_path_factory.mktemp("debian")
    (source := directory / "source").mkdir()
    copy_client(copy_checkout(source))
    for name in ("debian", "requirements"):
        shutil.copytree(REPOSITORY / name, source / name)
    command = ["dpkg-buildpackage", "--build=binary", "--no-sign", "--no-check-builddeps"]
    done = subprocess.run(command, cwd=source, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (path,) = directory.glob("*.deb")
    return path


def test_the_package_serves_by_its_units(
    package: Path, new_machine: NewMachine, tmp_path: Path
) -> None:
    need("uwsgi")
    machine, port = new_machine(), free_port()
    # As dpkg does, and dpkg-deb does not: /lib stays a link.
    script = 'dpkg-deb --fsys-tarfile "$1" | tar --extract --keep-directory-symlink'
    machine.prepare(script, str(package))
    entry = f"placement:x:{USER}:{USER}::/var/lib/placement:/usr/sbin/nologin"
    machine.prepare(
        'echo "$1" >> etc/passwd; echo "$2" >> etc/group', entry, f"placement:x:{USER}:"
    )
    machine.prepare('sed -i "s|$1|127.0.0.1:$2|" etc/placement/placement.ini', SERVICE, str(port))
    machine.put("/etc/placement/placement.conf", CONFIGURATION)
    machine.room("/var/lib/placement")
    machine.seal()
    said = machine.run(
        ["/usr/bin/placement-manage", "--config-dir", "/etc/placement", "db", "sync"], {}
    )
    assert said.startswith(f"schema: {schema.newest()}, was none")
    units = machine.run(["sh", "-c", "cat /lib/systemd/system/placement-api.*"], {})
    assert f"ListenStream={SERVICE}\n" in units
    (command,) = re.findall(r"^ExecStart=(.+)$", units, re.MULTILINE)
    assert "gunicorn" not in command
    with listen(port) as sock, (tmp_path / "log").open("wb") as log:
        process = machine.start([*ACTIVATED, *command.split()], {}, log, stdin=sock.fileno())
    await_answer(port, process, tmp_path / "log")
    expect(send(port, "GET", "/healthcheck"), 200)
    process.terminate()
    assert process.wait(START) == 0
