"""The manual pages: there is one for each command, with every argument."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from placement_docs import commands

ROOT = Path(__file__).parents[2]
PAGES = {"placement-manage.1", "placement-status.1", "placement-api.8"}


@pytest.fixture(scope="module")
def manual(built: Path) -> dict[str, str]:
    """Name -> text of each manual page, without marks of fonts."""
    folder = built.parent / "man"
    command = [
        *(sys.executable, "-m", "sphinx", "--builder", "man", "--quiet", "--fail-on-warning"),
        *("--doctree-dir", str(built.parent / "doctrees"), str(ROOT / "docs"), str(folder)),
    ]
    build = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600)
    assert (build.returncode, build.stderr) == (0, "")
    return {path.name: plain(path.read_text()) for path in folder.iterdir() if path.is_file()}


def plain(text: str) -> str:
    """Return a page without the marks of its format."""
    return re.sub(r"\\f[A-Z]|\\f\([A-Z]+|\\f\[.*?\]|\\&", "", text).replace(r"\-", "-")


def test_every_command_has_a_page(manual: dict[str, str]) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert manual.keys() == PAGES
    assert {f"{name}.1" for name in project["scripts"]} <= PAGES


@pytest.mark.parametrize("name", commands.parsers())
def test_every_argument_of_a_command_is_in_its_page(manual: dict[str, str], name: str) -> None:
    page = manual["placement-manage.1"]
    section = re.split(rf"^\.SS {re.escape(name)}$", page, flags=re.MULTILINE)[1]
    section = re.split(r"^\.S[SH] ", section, flags=re.MULTILINE)[0]
    for action in commands.parsers()[name]._actions:
        forms = action.option_strings or [str(action.metavar or action.dest)]
        assert [form for form in forms if form not in section] == []


@pytest.mark.skipif(shutil.which("man") is None, reason="man is not installed")
def test_a_page_is_read_without_a_complaint(built: Path, manual: dict[str, str]) -> None:
    for name in manual:
        read = subprocess.run(
            ["man", "--warnings=all", "--local-file", str(built.parent / "man" / name)],
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert (read.returncode, read.stderr) == (0, ""), name
        assert "SYNOPSIS" in read.stdout, name
