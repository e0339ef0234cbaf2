"""The suites of `make conformance`: what each installs, runs, and how its figures are read."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from falcon_placement_client.loader import load_cloud
from tests.api.openstack_cloud import cloud
from tests.kit.engines import ENGINE, empty_database, new_database
from tests.kit.ports import free_port
from tests.kit.processes import REPOSITORY, serving

ENGINES = ("sqlite", "mariadb", "postgresql")
BIN = Path(sys.executable).parent
HERE = Path(__file__).parent
# Virtualenvs of the suites, which remain for the next run.
HOME = REPOSITORY / ".venv" / "conformance"
GUNICORN = (
    f"env -C {REPOSITORY} WEB_CONCURRENCY=1 {sys.executable} -m gunicorn "
    "--config etc/gunicorn.conf.py"
)
EDITABLE = ("--editable", "./falcon_placement_client", "--editable", ".[postgresql]")
# openstack-placement 13 and 14 read an option that oslo.policy no longer has.
OLD_POLICY = "oslo.policy<5"
PEER = ("gunicorn", "pymysql", "psycopg2-binary", "SQLAlchemy<2.1")
NOVA = (
    *("nova==34.0.0", "SQLAlchemy<2.1", "ddt", "fixtures", "oslotest", "PyMySQL"),
    *(
        "python-memcached",
        "requests-mock",
        "stestr",
        "testscenarios",
        "testtools",
        "wsgi-intercept",
    ),
)


@dataclass(frozen=True)
class Suite:
    """One row of the table."""

    # The release of OpenStack whose software it is.
    release: str
    # What is run, for the reader.
    title: str
    # What is installed into the virtualenv of the suite; empty: it uses the one of this program.
    packages: Sequence[str]
    # Runs it with the virtualenv's python; returns its output. `PLACEMENT_ENGINE` is the engine.
    run: Callable[[Path], str]
    engines: Sequence[str] = ENGINES
    # The suite whose virtualenv it shares.
    shares: str = ""
    # What the reader should know of tests that do not pass.
    note: str = ""


def figures(output: str) -> tuple[int, int]:
    """Return how many tests passed, and how many were run, of the end of an output.

    Raises ValueError if the output does not say it.
    """
    if found := re.search(r"^passed (\d+) of (\d+)", output, re.MULTILINE):
        return int(found[1]), int(found[2])
    if "- Passed: " in output:  # stestr
        counts = dict(re.findall(r"^ - (\w+(?: \w+)?): (\d+)$", output, re.MULTILINE))
        return int(counts["Passed"]), int(counts["Passed"]) + int(counts["Failed"])
    if counted := re.findall(r"^Ran (\d+) tests? in ", output, re.MULTILINE):  # unittest
        run = sum(map(int, counted)) - _count(output, "skipped")
        return run - _count(output, "failures") - _count(output, "errors"), run
    passed, failed = _pytest(output, "passed"), _pytest(output, "failed") + _pytest(output, "error")
    if passed + failed == 0:
        raise ValueError("the output has no number of tests")
    return passed, passed + failed


def _count(output: str, name: str) -> int:
    return sum(map(int, re.findall(rf"\b{name}=(\d+)", output)))


def _pytest(output: str, name: str) -> int:
    found = re.search(rf"\b(\d+) {name}", output)
    return int(found[1]) if found else 0


def environment(name: str, packages: Sequence[str]) -> Path:
    """Return the python of a suite's virtualenv, which is made if it is missing."""
    if not packages:
        return Path(sys.executable)
    home = HOME / name
    if not (home / "installed").exists():
        uv = str(BIN / "uv")
        install = [uv, "pip", "install", "--quiet", "--no-sources", "--python", str(home)]
        subprocess.run([uv, "venv", "--quiet", "--clear", str(home)], check=True)
        subprocess.run([*install, *packages], check=True, cwd=REPOSITORY)
        (home / "installed").touch()
    return home / "bin" / "python"


def _output(*command: str | Path, cwd: Path = REPOSITORY, **more: str) -> str:
    """Return the output of a command, whose exit code does not matter.

    Programs of the virtualenv of the command are found first.
    """
    path = f"{Path(command[0]).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env={**os.environ, "PATH": path, **more},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
    )
    return done.stdout


@contextmanager
def _served() -> Iterator[str]:
    """Serve an empty database of the engine; yields the URL."""
    with TemporaryDirectory() as home:
        database = empty_database(Path(home))
        with serving(Path(home), [database], OS_PLACEMENT_DATABASE__SYNC_ON_STARTUP="true") as [
            server
        ]:
            yield f"http://127.0.0.1:{server.port}"


def _module(name: str, python: Path, *arguments: str) -> str:
    return _output(python, "-m", name, *arguments)


def _nova(python: Path) -> str:
    source = python.parents[1] / "src"
    if not source.exists():
        # The wheel lacks files of the tests.
        with TemporaryDirectory() as home:
            download = ["pip", "download", "--quiet", "--no-deps", "--no-binary", "nova"]
            subprocess.run([BIN / "python", "-m", *download, "--dest", home, NOVA[0]], check=True)
            [archive] = Path(home).glob("nova-*.tar.gz")
            source.mkdir()
            unpack = ["tar", "--strip-components=1", "-xzf", str(archive), "-C", str(source)]
            subprocess.run(unpack, check=True)
    return _module("tests.nova.functional", python, str(source))


def _gabbits(python: Path) -> str:
    [directory] = python.parents[1].glob(
        "lib/python3*/site-packages/placement/tests/functional/gabbits"
    )
    with TemporaryDirectory() as home:

        def create_tables(url: str) -> None:
            theirs = url.replace("+psycopg:", "+psycopg2:")
            manage = [str(python.with_name("placement-manage")), "db", "sync"]
            variables = os.environ | {"OS_PLACEMENT_DATABASE__CONNECTION": theirs}
            subprocess.run(manage, check=True, cwd=home, env=variables)

        databases = []
        if ENGINE != "sqlite":
            gabbits = directory.glob("*.yaml")
            databases = [new_database(Path(home), create_tables) for _ in gabbits]
        script, port = HERE / "gabbits.py", str(free_port())
        return _output(python, script, GUNICORN, port, *databases, cwd=Path(home))


def _client(name: str, python: Path) -> str:
    with _served() as url, TemporaryDirectory() as home:
        return _output(python, HERE / "clients.py", name, url, cwd=Path(home))


def _sdk(python: Path) -> str:
    with _served() as url, TemporaryDirectory() as home, cloud(url) as identity:
        # The tests want a host with room.
        load_cloud(str(REPOSITORY / "examples" / "cloud.yaml"), url, "admin", out=io.StringIO())
        owner = {"username": "operator", "password": "secret", "project_name": "p"}
        domains = {"user_domain_id": "default", "project_domain_id": "default"}
        settings = {
            "auth": {"auth_url": f"{identity.url}/v3", **owner, **domains},
            **{f"has_{service}": False for service in ("compute", "image")},
        }
        names = ("devstack", "devstack-alt", "devstack-admin", "devstack-system-admin")
        Path(home, "clouds.yaml").write_text(json.dumps({"clouds": dict.fromkeys(names, settings)}))
        return _tests(python, "openstack.tests.functional.placement", Path(home))


def _osc_placement(python: Path) -> str:
    return _tests(python, "osc_placement.tests.functional", HERE)


def _tests(python: Path, package: str, directory: Path) -> str:
    """Run the tests of an installed package in a directory."""
    [site] = python.parents[1].glob("lib/python3*/site-packages")
    start = site.joinpath(*package.split("."))
    return _output(python, "-m", "unittest", "discover", "-s", start, "-t", site, cwd=directory)


def _adoption(python: Path) -> str:
    peer = str(python.parents[1])
    return _output(
        sys.executable, "-m", "pytest", "tests/peer/test_adoption.py", PLACEMENT_PEER=peer
    )


def _peer(release: str, version: str, *pins: str) -> Suite:
    title = f"database of openstack-placement {version} adopted, given back and adopted again"
    return Suite(release, title, (f"openstack-placement=={version}", *PEER, *pins), _adoption)


def _of_client(release: str, name: str, package: str) -> Suite:
    title = f"placement client of {name} {package.partition('==')[2]}"
    return Suite(release, title, (package,), partial(_client, name))


SUITES: Mapping[str, Suite] = {
    "gabbits": Suite(
        "2026.2",
        "gabbits of openstack-placement 16.0.0, with its own fixtures",
        ("openstack-placement==16.0.0", *PEER, "gabbi", "wsgi-intercept", "oslotest"),
        _gabbits,
        note="39 tests expect 403 by policies that the fixtures set in their own process, which are"
        " not carried over; most of the others expect words of error messages, which differ by"
        " intention (:doc:`compatibility`)",
    ),
    "nova": Suite(
        "2026.2",
        "functional tests of nova 34.0.0 that depend on placement",
        (*EDITABLE, *NOVA),
        _nova,
        ("sqlite",),
    ),
    "nova-report-client": Suite(
        "2026.2",
        "nova 34.0.0's tests of its report client, in process and over HTTP",
        (*EDITABLE, *NOVA),
        partial(_module, "tests.nova"),
        shares="nova",
    ),
    "osc-placement": Suite(
        "2026.2",
        "functional tests of osc-placement 4.9.1",
        (*EDITABLE, "osc-placement==4.9.1", "python-openstackclient", "oslotest", "simplejson"),
        _osc_placement,
        ("sqlite",),
    ),
    "openstacksdk": Suite(
        "2026.2",
        "functional tests of openstacksdk 4.22.0",
        ("openstacksdk==4.22.0", "oslotest", "testscenarios", "requests-mock", "ddt"),
        _sdk,
        note="test_usage fails on each service in which the project has no allocations",
    ),
    "neutron-lib": _of_client("2026.2", "neutron-lib", "neutron-lib==5.0.1"),
    "tempest": _of_client("2026.2", "tempest", "tempest==47.0.0"),
    "blazar": _of_client("2026.2", "blazar", "blazar==18.0.0"),
    "cyborg": _of_client("2026.2", "cyborg", "openstack-cyborg==17.0.0"),
    "zun": _of_client("2026.2", "zun", "zun==18.0.0"),
    "watcher": _of_client("2026.2", "watcher", "python-watcher==17.0.0"),
    "adoption-16": _peer("2026.2", "16.0.0"),
    "adoption-14": _peer("2025.2", "14.0.0", OLD_POLICY),
    "adoption-13": _peer("2025.1", "13.0.0", OLD_POLICY),
}
