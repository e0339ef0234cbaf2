"""`placement-manage` where its output is not read to the end, and where it is interrupted."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from placement import cli
from placement.cli import document, load

COMMAND = (sys.executable, "-c", "import sys; from placement.cli import main; sys.exit(main())")


@pytest.mark.parametrize("command", [["openapi"], ["draw-cloud", "etc/demo-cloud.yaml"]])
def test_who_reads_no_further_ends_a_command_without_a_complaint(command: list[str]) -> None:
    process = subprocess.Popen([*COMMAND, *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.close()
    _none, complaints = process.communicate()
    assert (process.returncode, complaints) == (cli.UNREAD, b"")


@pytest.mark.parametrize(
    ("module", "name", "arguments"),
    [(document, "_describe", ["openapi"]), (load, "_load", ["load-cloud", "cloud.yaml"])],
)
def test_an_interrupted_command_says_so_in_one_line(
    module: Any,
    name: str,
    arguments: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def interrupted(_conf: Any) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(module, name, interrupted)
    assert cli.main(arguments) == cli.INTERRUPTED
    assert capsys.readouterr().err == "placement: interrupted\n"
