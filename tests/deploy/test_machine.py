"""What tests of deployments need of the machine that runs them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.deploy.machine import is_possible


def test_a_container_that_permits_no_mounts_is_noticed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    program = tmp_path / "unshare"
    program.write_text(
        "#!/bin/sh\necho unshare: unshare failed: Operation not permitted >&2\nexit 1\n"
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    assert not is_possible()
