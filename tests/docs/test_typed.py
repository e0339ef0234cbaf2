"""The commands of pages for the demonstration cloud have the documented results."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from placement_docs import service

ROOT = Path(__file__).parents[2]
URL = "http://127.0.0.1:8778"
# The exit code of each command, by page. Each page begins with a new cloud.
CODES = {
    "start": [0, 0, 0, 0, 3, 0],
    "requests": [0],
    "operations/refresh": [0, 0, 0, 0, 0, 0, 0],
}
BLOCK = re.compile(r"^\.\. code-block:: (sh|json|text)\n\n((?:   .*\n|\n)+)", re.MULTILINE)
MORE = "…"  # in a list: any further elements


def steps(page: str) -> Iterator[tuple[str, str, str]]:
    """Yield each command of a page with its result: the block that follows it, and its kind.

    Without such a block, both are empty. Further blocks are examples that are not executed.
    """
    found = [*BLOCK.findall((ROOT / "docs" / f"{page}.rst").read_text()), ("sh", "")]
    for (kind, text), (next_kind, next_text) in pairwise(found):
        if kind == "sh":
            yield (text, "", "") if next_kind == "sh" else (text, next_kind, next_text)


def contains(answered: Any, shown: Any) -> bool:
    """Return whether a response has the members that a page shows. A page may omit members."""
    if isinstance(shown, dict):
        return isinstance(answered, dict) and all(
            name in answered and contains(answered[name], value) for name, value in shown.items()
        )
    if isinstance(shown, list):
        more = shown[-1:] == [MORE]
        pairs = list(zip(answered, shown[:-1] if more else shown, strict=False))
        return (
            isinstance(answered, list)
            and (len(answered) >= len(shown) if more else len(answered) == len(shown))
            and all(contains(*pair) for pair in pairs)
        )
    return bool(answered == shown)


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
@pytest.mark.parametrize("page", CODES)
def test_the_commands_answer_what_is_shown(page: str) -> None:
    answers: list[subprocess.CompletedProcess[str]] = []
    with service.service(ROOT / "etc" / "demo-cloud.yaml") as asked:
        for command, kind, text in steps(page):
            answers.append(run(command, asked.url))
            if kind == "text":
                assert answers[-1].stdout.startswith(textwrap.dedent(text).strip())
            elif kind == "json":
                answered = json.loads(answers[-1].stdout)
                assert contains(answered, json.loads(text)), json.dumps(answered, indent=1)
    codes = [answer.returncode for answer in answers]
    assert codes == CODES[page], [answer.stdout + answer.stderr for answer in answers]


@pytest.mark.parametrize(
    ("answered", "shown"),
    [
        ({"a": 1}, {"a": 2}),
        ({"a": 1}, {"b": 1}),
        ({"a": [1, 2]}, {"a": [1]}),
        ({"a": [1]}, {"a": [1, MORE]}),
        ({"a": [2, 3]}, {"a": [1, MORE]}),
        ([], {"a": 1}),
    ],
)
def test_another_response_is_noticed(answered: Any, shown: Any) -> None:
    assert not contains(answered, shown)
    assert contains(answered, answered)
