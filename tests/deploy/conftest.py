"""Machines with the service.

Tests are skipped if a program or the permission for mounts is missing. With PLACEMENT_DEPLOY=1,
they fail.
"""

from __future__ import annotations

import itertools
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from tests.deploy import containerfile
from tests.deploy.containerfile import Image
from tests.deploy.machine import Machine, is_possible

REQUIRED = bool(os.environ.get("PLACEMENT_DEPLOY"))

NewMachine = Callable[[], Machine]
_numbers = itertools.count(1)


def need(program: str) -> None:
    """Skip the test unless a program is installed."""
    if shutil.which(program, path=f"{os.environ['PATH']}:/usr/sbin:/sbin"):
        return
    if REQUIRED:
        pytest.fail(f"{program} is not installed")
    pytest.skip(f"{program} is not installed")


@pytest.fixture(scope="session")
def new_machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NewMachine]:
    """Create a separate machine."""
    if not is_possible():
        reason = "no mounts of its own: this needs root, and a kernel or container that lets it"
        pytest.fail(reason) if REQUIRED else pytest.skip(reason)
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
    context = containerfile.prepare(tmp_path_factory.mktemp("context"))
    return containerfile.build(new_machine, context)


@pytest.fixture
def installed(image: Image, new_machine: NewMachine) -> Machine:
    """A separate machine with /opt/placement."""
    machine = new_machine()
    image.machine.copy_to(machine, "/opt/placement", "/opt/placement")
    return machine
