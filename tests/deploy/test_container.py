"""The image, built by its own instructions and run on a read-only root file system."""

from __future__ import annotations

import signal
from pathlib import Path

from placement.db import schema
from tests.deploy.containerfile import Image
from tests.deploy.serving import CONFIGURATION, await_answer
from tests.kit.ports import free_port
from tests.kit.processes import START, expect, new_host, send

DATABASE = "/var/lib/placement"  # a volume


def test_the_image_serves_on_a_read_only_root_as_a_user_without_rights(
    image: Image, tmp_path: Path
) -> None:
    assert image.user == f"{10778}:{10778}"
    machine = image.machine
    machine.put("/etc/placement/placement.conf", CONFIGURATION)
    machine.room(DATABASE)
    machine.seal()
    said = machine.run(
        ["placement-manage", "--config-dir", "/etc/placement", "db", "sync"], image.environment
    )
    assert said.startswith(f"schema: {schema.newest()}, was none")
    assert image.ports == ["8778"]
    assert image.command[-1].endswith(":8778")
    port = free_port()
    command = [*image.command[:-1], f"127.0.0.1:{port}"]
    with (tmp_path / "log").open("wb") as log:
        process = machine.start(command, image.environment, log)
    await_answer(port, process, tmp_path / "log")
    expect(send(port, "GET", "/healthcheck"), 200)
    new_host(port, VCPU=8)
    listed = expect(send(port, "GET", "/resource_providers"), 200).body
    assert len(listed["resource_providers"]) == 1
    process.send_signal(signal.Signals[image.stop_signal])
    assert process.wait(START) == 0


def test_nothing_of_the_build_is_in_the_image(image: Image) -> None:
    image.machine.run(["sh", "-c", "! test -e /src"], {})
