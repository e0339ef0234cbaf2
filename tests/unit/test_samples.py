"""The samples of the configuration and the policy are what the tools of oslo generate."""

from __future__ import annotations

import shutil
import subprocess
import sys
from dataclasses import asdict
from importlib import metadata
from pathlib import Path

import pytest
from oslo_config import cfg

from placement import config

ROOT = Path(__file__).parents[2]
DIRECTORY = ROOT / "etc" / "placement"  # deployment tools copy it to /etc/placement
TOOLS = Path(sys.executable).parent
# Whose options are in the sample of the configuration.
LIBRARIES = ("keystonemiddleware", "oslo.config", "oslo.log", "oslo.middleware", "oslo.policy")


def test_files_that_deployment_tools_copy_change_nothing(tmp_path: Path) -> None:
    (tmp_path / "placement.conf").write_text("[placement_database]\nconnection = sqlite://\n")

    def load(*arguments: str) -> cfg.ConfigOpts:
        conf = config.options()
        config.parse(conf, arguments)
        return conf

    alone = load("--config-file", str(tmp_path / "placement.conf"))
    for path in DIRECTORY.iterdir():
        shutil.copy(path, tmp_path)
    assert not (tmp_path / "policy.yaml").exists()
    together = load("--config-dir", str(tmp_path))
    assert list(config.unknown_options(together)) == []
    first, second = (asdict(config.settings(each)) for each in (alone, together))
    for settings in (first, second):
        del settings["conf"]
    assert first == second


@pytest.mark.parametrize(
    ("tool", "configuration", "sample"),
    [
        ("oslo-config-generator", "config-generator.conf", "placement.conf.sample"),
        ("oslopolicy-sample-generator", "policy-generator.conf", "policy.yaml.sample"),
    ],
)
def test_the_samples_that_are_shipped_are_up_to_date(
    tmp_path: Path, tool: str, configuration: str, sample: str
) -> None:
    constraints = (ROOT / "requirements" / "constraints.txt").read_text()
    for name in LIBRARIES:
        if f"{name}=={metadata.version(name)}\n" not in constraints:
            pytest.skip(f"{name} is not of the version in constraints.txt, whose help is shipped")
    path = tmp_path / sample
    command: list[str | Path] = [
        TOOLS / tool, "--config-file", DIRECTORY / configuration,
        "--output-file", path,
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (DIRECTORY / sample).read_text() == path.read_text(), "run make samples"
