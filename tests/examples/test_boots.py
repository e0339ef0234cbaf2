"""The tests among the examples, which use the fixtures of the client."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]


def test_the_tests_of_the_examples_pass() -> None:
    run = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "examples/test_boots.py"]
    done = subprocess.run(run, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert done.stdout.startswith("..")
