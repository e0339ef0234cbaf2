"""Execute a Containerfile on test machines. Each stage is a machine."""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from placement import cli
from tests.deploy.machine import PYTHON, Machine
from tests.kit.packages import build as build_package
from tests.kit.packages import copy_checkout, copy_client
from tests.kit.processes import REPOSITORY

FILE = REPOSITORY / "etc/deploy/container/Containerfile"
# How packages are found is a matter of the machine that builds.
OPTIMIZATION = {"CFLAGS": "-O0"}  # PERF: uWSGI is built in half of the time
OF_THE_BUILDER = ("PIP_", "HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy", "SSL_CERT")


def instructions(text: str) -> list[tuple[str, str]]:
    """Return the instructions of a file in order, each with its name and its arguments."""
    text = re.sub(r"^#.*\n", "", text, flags=re.MULTILINE)
    lines = re.sub(r"\\\n\s*", "", text).splitlines()
    return [(name, rest) for name, _, rest in (line.partition(" ") for line in lines if line)]


@dataclass
class Image:
    """The settings of an image, without its files."""

    machine: Machine
    environment: dict[str, str] = field(
        default_factory=lambda: {"PATH": f"{PYTHON}/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
    )
    user: str = "0"
    ports: list[str] = field(default_factory=list)
    stop_signal: str = ""
    command: list[str] = field(default_factory=list)


def prepare(directory: Path) -> Path:
    """Return a directory with the samples and both wheels, as on an operator's machine."""
    context = directory / "context"
    assert cli.main(["samples", str(context)]) == 0
    for copy in (copy_checkout, copy_client):
        source, built = directory / copy.__name__, directory / f"built by {copy.__name__}"
        source.mkdir()
        built.mkdir()
        wheel = build_package("wheel", copy(source), built)
        wheel.rename(context / wheel.name)
    return context


def build(new_machine: Callable[[], Machine], context: Path) -> Image:
    """Execute the Containerfile in a directory. Return the image of its last stage."""
    stages: dict[str, Image] = {}
    image: Image | None = None
    text = (context / FILE.relative_to(REPOSITORY / "etc")).read_text()
    for name, rest in instructions(text):
        if name == "ARG":
            continue  # the base image, which this machine with its Python replaces
        if name == "FROM":
            image = Image(new_machine())
            stages[rest.partition(" AS ")[2]] = image
            continue
        assert image is not None
        _carry_out(image, name, rest, stages, context)
    assert image is not None
    return image


def _carry_out(image: Image, name: str, rest: str, stages: dict[str, Image], context: Path) -> None:
    match name:
        case "COPY" if rest.startswith("--from="):
            stage, source, target = rest.removeprefix("--from=").split()
            stages[stage].machine.copy_to(image.machine, source, target)
        case "COPY":
            *sources, target = rest.split()
            for source in sources:
                _copy(image.machine, context, source, target)
        case "RUN" if rest.startswith("apt-get "):
            pass  # programs of the base image, which this machine replaces
        case "RUN":
            _run(image, rest)
        case "ENV":
            key, _, value = rest.partition("=")
            image.environment[key] = value.replace("$PATH", image.environment["PATH"])
        case "USER":
            image.user = rest
        case "EXPOSE":
            image.ports.append(rest)
        case "STOPSIGNAL":
            image.stop_signal = rest
        case "CMD":
            image.command = json.loads(rest)
        case _:
            raise NotImplementedError(name)


def _copy(machine: Machine, context: Path, pattern: str, target: str) -> None:
    """Copy files to a directory, whose name ends with a slash."""
    assert target.endswith("/")
    paths = list(context.glob(pattern))
    assert paths, pattern
    for path in paths:
        machine.prepare('mkdir -p ".$2"; cp "$1" ".$2"; chmod -R a+rX ".$2"', str(path), target)


def _run(image: Image, command: str) -> None:
    builder = {name: value for name, value in os.environ.items() if name.startswith(OF_THE_BUILDER)}
    variables = [
        f"{name}={value}"
        for name, value in {**OPTIMIZATION, **builder, **image.environment}.items()
    ]
    line = f"env -i HOME=/root {shlex.join(variables)} sh -ec {shlex.quote(command)}"
    image.machine.prepare(f"exec chroot . {line} >/tmp/build.log 2>&1")
