"""Machines with the service.

Tests are skipped if a program or the permission for mounts is missing. With PLACEMENT_DEPLOY=1,
they fail.
"""

from __future__ import annotations

import itertools
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.deploy import containerfile
from tests.deploy.containerfile import Image
from tests.deploy.machine import Machine, is_possible
from tests.kit.missing import need, skip

NewMachine = Callable[[], Machine]
_numbers = itertools.count(1)


def need_python_of_distribution() -> None:
    """Skip the test unless the Linux distribution has the version of Python that runs the tests."""
    need("/usr/bin/python3")
    stated = subprocess.run(
        ["/usr/bin/python3", "-c", "import sys; print(*sys.version_info[:2])"],
        capture_output=True, text=True, check=True,
    ).stdout.split()  # fmt: skip
    if stated != [str(number) for number in sys.version_info[:2]]:
        reason = f"the distribution's Python is {'.'.join(stated)}, the tests' another"
        skip(reason, "PLACEMENT_DEPLOY")


@pytest.fixture(scope="session")
def new_machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NewMachine]:
    """Create a separate machine."""
    if not is_possible():
        skip(
            "no mounts of its own: this needs root, and a kernel or container that lets it",
            "PLACEMENT_DEPLOY",
        )
    directory = tmp_path_factory.mktemp("machines")
    with ExitStack() as exits:

        def make() -> Machine:
            machine = Machine(directory / str(next(_numbers)))
            exits.callback(machine.close)
            return machine

        yield make


@pytest.fixture(scope="session")
def image(new_machine: NewMachine, tmp_path_factory: pytest.TempPathFactory) -> Image:
    """The service as the Containerfile installs it."""
    need("gcc")  # it builds uWSGI
    if not Path(sysconfig.get_path("include"), "Python.h").exists():
        skip("the headers of Python are not installed", "PLACEMENT_DEPLOY")
    context = containerfile.prepare(tmp_path_factory.mktemp("context"))
    return containerfile.build(new_machine, context)


@pytest.fixture(scope="session")
def install(image: Image, new_machine: NewMachine) -> NewMachine:
    """Create a separate machine with /opt/placement."""

    def make() -> Machine:
        machine = new_machine()
        image.machine.copy_to(machine, "/opt/placement", "/opt/placement")
        return machine

    return make


@pytest.fixture
def installed(install: NewMachine) -> Machine:
    """A separate machine with /opt/placement."""
    return install()
