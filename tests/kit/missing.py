"""Tests for which this machine lacks a program, a user or a permission."""

from __future__ import annotations

import os
import shutil
from typing import NoReturn

import pytest


def skip(reason: str, required_by: str) -> NoReturn:
    """Skip the test, or fail it if the variable `required_by` is set, as in the gate."""
    if os.environ.get(required_by):
        pytest.fail(f"{reason}, and {required_by} is set")
    pytest.skip(reason)


def need(program: str, required_by: str = "PLACEMENT_DEPLOY") -> None:
    """Skip the test, or fail it as `skip` does, unless a program is installed."""
    if not shutil.which(program, path=f"{os.environ['PATH']}:/usr/sbin:/sbin"):
        skip(f"{program} is not installed", required_by)
