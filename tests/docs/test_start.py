"""The commands of the tutorial have the documented results."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from placement_docs import service

ROOT = Path(__file__).parents[2]
URL = "http://127.0.0.1:8778"
BLOCKS = re.findall(
    r"^\.\. code-block:: (sh|json|text)\n\n((?:   .*\n|\n)+)",
    (ROOT / "docs" / "start.rst").read_text(),
    re.MULTILINE,
)


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with service.service(ROOT / "etc" / "demo-cloud.yaml") as asked:
        yield asked.url


def run(command: str, url: str) -> subprocess.CompletedProcess[str]:
    """Run a command of the page against a server. curl fails if the server refuses the request."""
    programs = Path(sys.executable).parent
    command = command.replace(URL, url).replace("curl -s", "curl -sS --fail-with-body")
    command = command.replace(".venv/bin/", f"{programs}/")
    environment = {**os.environ, "COLUMNS": "80"}
    return subprocess.run(
        ["sh", "-c", command],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_the_commands_answer_what_is_shown(url: str) -> None:
    answers: list[subprocess.CompletedProcess[str]] = []
    for language, text in BLOCKS:
        if language == "text":
            assert answers[-1].stdout.startswith(textwrap.dedent(text).strip())
        elif language == "json":
            shown, answered = json.loads(text), json.loads(answers[-1].stdout)
            assert shown == {name: answered[name] for name in shown}
        else:
            answers.append(run(text, url))
    codes = [answer.returncode for answer in answers]
    assert codes == [0, 0, 0, 0, 3, 0], [answer.stdout + answer.stderr for answer in answers]
    assert json.loads(answers[3].stdout)["mappings"].keys() == {"_CPU", "_FPGA"}
