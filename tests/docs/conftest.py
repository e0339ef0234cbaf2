"""The documentation, built once for all tests of it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the pages.

    Warnings are errors, and only `make docs` requirements are installed.
    """
    folder = tmp_path_factory.mktemp("docs")
    command = [
        *(sys.executable, "-m", "tests.docs.alone", "--builder", "html", "--quiet", "--fresh-env"),
        *("--fail-on-warning", "--keep-going", "--doctree-dir", str(folder / "doctrees")),
        *(str(ROOT / "docs"), str(folder / "html")),
    ]
    build = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=1200)
    assert (build.returncode, build.stderr) == (0, "")
    return folder / "html"
