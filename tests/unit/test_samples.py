"""The samples of the configuration and the policy are what the tools of oslo generate."""

from __future__ import annotations

import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TOOLS = Path(sys.executable).parent
# Whose options are in the sample of the configuration.
LIBRARIES = ("keystonemiddleware", "oslo.config", "oslo.log", "oslo.middleware", "oslo.policy")


@pytest.mark.parametrize(
    ("tool", "configuration", "sample"),
    [
        ("oslo-config-generator", "placement.conf", "placement.conf.sample"),
        ("oslopolicy-sample-generator", "policy.yaml.conf", "policy.yaml.sample"),
    ],
)
def test_the_samples_that_are_shipped_are_up_to_date(
    tmp_path: Path, tool: str, configuration: str, sample: str
) -> None:
    constraints = (ROOT / "constraints.txt").read_text()
    for name in LIBRARIES:
        if f"{name}=={metadata.version(name)}\n" not in constraints:
            pytest.skip(f"{name} is not of the version in constraints.txt, whose help is shipped")
    path = tmp_path / sample
    command: list[str | Path] = [
        TOOLS / tool, "--config-file", ROOT / "etc" / "generators" / configuration,
        "--output-file", path,
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (ROOT / "etc" / sample).read_text() == path.read_text(), "run make samples"
